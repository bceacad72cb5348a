# The Debian package: installed, asked, upgraded, watched, removed, purged.
. /mnt/test/clean-system/common.sh

say "install"
dpkg -i /mnt/test/old/*.deb
active || die "it does not run after the install"
[ "$(netgloss --version)" = "$OLD" ] || die "it is another version"
systemctl is-enabled --quiet netgloss.service || die "it is not enabled"
ready >/dev/null || die "it is not ready when systemd says that it has started"
has_status ready || die "the state is not $(status_text)"
netgloss health --config /etc/netgloss/netgloss.yml
netgloss config check --config /etc/netgloss/netgloss.yml --running --strict
uid=$(stat -c %u /proc/"$(main_pid)")
{ [ "$uid" -ge 61184 ] && [ "$uid" -le 65519 ]; } || die "it runs as $uid, which is no dynamic user"
systemd-analyze verify --man=no /usr/lib/systemd/system/netgloss.service
systemd-analyze security --no-pager netgloss.service | tail -n 1

say "ask"
netgloss udm set 10.0.0.0/8 --name ten --config /etc/netgloss/netgloss.yml
send_flow
expect "a record with its name" grep -q '10\.1\.2\.3.*"ten"' /var/lib/netgloss/flows.ndjson
curl -sf "$api/metrics" | grep '^netgloss_' >/dev/null || die "no metrics"
curl -sf -H 'accept: text/html' "$api/" | grep '<script' >/dev/null || die "no pages"

say "ports below 1024, reload, logrotate"
cat >>/etc/netgloss/netgloss.yml <<'END'
SVC_INPUT_TRAP_ENABLE: true
SVC_INPUT_TRAP_LISTENER_PORT: 162
SVC_LOGGER_FILE_LOG_ENABLE: true
END
systemctl restart netgloss.service
grep -qi ':00A2 ' /proc/net/udp || die "nobody listens on port 162"
systemctl reload netgloss.service
expect "a file of the log" test -s /var/log/netgloss/netgloss.log
logrotate --force /etc/logrotate.d/netgloss
expect "the old log" test -s /var/log/netgloss/netgloss.log.1
systemctl reload netgloss.service
expect "a new log" test -s /var/log/netgloss/netgloss.log

say "upgrade"
before=$(main_pid)
dpkg --force-confdef --force-confold -i /mnt/test/new/*.deb
active || die "it does not run after the upgrade"
[ "$(netgloss --version)" = "$NEW" ] || die "it is the old version"
[ "$(main_pid)" != "$before" ] || die "the old process still runs"
grep -q 'PORT: 162' /etc/netgloss/netgloss.yml || die "the settings were lost"
netgloss udm get 10.0.0.0/8 --config /etc/netgloss/netgloss.yml | grep ten >/dev/null || die "the metadata was lost"

say "watchdog"
mkdir -p /run/systemd/system/netgloss.service.d
printf '[Service]\nWatchdogSec=2\nWatchdogSignal=SIGKILL\n' >/run/systemd/system/netgloss.service.d/quick.conf
systemctl daemon-reload
systemctl restart netgloss.service
before=$(main_pid)
sleep 5
[ "$(main_pid)" = "$before" ] || die "a collector that lives was restarted"
kill -STOP "$before"
another() { [ "$(main_pid)" != "$before" ] && active; }
expect "a new process in place of the one that hangs" another

say "bad settings stop it for good"
cp /etc/netgloss/netgloss.yml /tmp/good.yml
echo 'SVC_API_PORT: nonsense' >>/etc/netgloss/netgloss.yml
if systemctl restart netgloss.service; then die "it starts with bad settings"; fi
failed() { systemctl is-failed --quiet netgloss.service; }
expect "a failure" failed
journalctl --no-pager -u netgloss.service | grep SVC_API_PORT >/dev/null || die "the journal does not name the setting"
cp /tmp/good.yml /etc/netgloss/netgloss.yml
systemctl reset-failed netgloss.service
systemctl start netgloss.service

say "remove"
dpkg -r netgloss
if active; then die "it still runs"; fi
[ ! -e /usr/lib/netgloss ] || die "left: $(find /usr/lib/netgloss | head -n 3)"
[ ! -e /usr/bin/netgloss ] || die "the command is still there"
[ -s /var/lib/netgloss/ipaddrs.yml ] || die "the data is gone"
[ -s /etc/netgloss/netgloss.yml ] || die "the settings are gone"

say "purge"
dpkg -P netgloss
for path in /var/lib/netgloss /var/lib/private/netgloss /var/log/netgloss /var/log/private/netgloss /etc/netgloss /etc/logrotate.d/netgloss; do
  [ ! -e "$path" ] || die "left: $path"
done
say "all done"
