# The RPM package: installed, started, asked, upgraded, removed. The system is a Debian one, which has no RPM packages to depend on.
. /mnt/test/clean-system/common.sh

say "install"
rpm --install --nodeps /mnt/test/old/*.rpm
rpm --query --requires netgloss | grep '^nodejs >= 1:20.19' >/dev/null || die "it does not depend on Node.js"
rpm --verify --nodeps netgloss
systemctl start netgloss.service
ready >/dev/null || die "it is not ready"
[ "$(netgloss --version)" = "$OLD" ] || die "it is another version"

say "ask"
netgloss udm set 10.0.0.0/8 --name ten --config /etc/netgloss/netgloss.yml
send_flow
expect "a record with its name" grep -q '10\.1\.2\.3.*"ten"' /var/lib/netgloss/flows.ndjson

say "upgrade"
echo '# mine' >>/etc/netgloss/netgloss.yml
before=$(main_pid)
rpm --upgrade --nodeps /mnt/test/new/*.rpm
expect "it runs" active
[ "$(netgloss --version)" = "$NEW" ] || die "it is the old version"
[ "$(main_pid)" != "$before" ] || die "the old process still runs"
grep -q '# mine' /etc/netgloss/netgloss.yml || die "the settings were lost"
netgloss udm get 10.0.0.0/8 --config /etc/netgloss/netgloss.yml | grep ten >/dev/null || die "the metadata was lost"

say "remove"
rpm --erase netgloss
if active; then die "it still runs"; fi
[ ! -e /usr/lib/netgloss/bin ] || die "the program is still there"
[ -s /var/lib/netgloss/ipaddrs.yml ] || die "the data is gone"
say "all done"
