#!/usr/bin/env bash
# Keycloak (its own in-memory database) on PORT: realm netgloss with the confidential client
# netgloss / secret-of-the-test-client, users admin/secret (role admin), viewer/secret (role
# viewer) and guest/secret (none); the client demands PKCE and has the roles in its ID tokens. Console user root/secret.
. "$(dirname "$0")/lib.sh"
VERSION=26.7.3
java_at_least 17
need curl
maven_zip org.keycloak:keycloak-quarkus-dist:$VERSION keycloak-$VERSION
export JAVA_HOME=$JAVA_HOME_USED
augment() { cp -r "$CACHE/keycloak-$VERSION/." "$1/" && "$1/bin/kc.sh" build --db=dev-mem --cache=local --health-enabled=false; }
once keycloak-$VERSION-built augment
begin
ports 1
# it keeps its data in its own folder: a copy, with hard links where the file system allows them
cp -rl "$CACHE/keycloak-$VERSION-built" "$DIR/keycloak" 2>/dev/null || cp -r "$CACHE/keycloak-$VERSION-built" "$DIR/keycloak"
mkdir -p "$DIR/keycloak/data/import"
cat >"$DIR/keycloak/data/import/netgloss.json" <<'END'
{ "realm": "netgloss", "enabled": true, "sslRequired": "none",
  "roles": { "realm": [{ "name": "admin" }, { "name": "viewer" }] },
  "clients": [{ "clientId": "netgloss", "secret": "secret-of-the-test-client", "enabled": true, "standardFlowEnabled": true,
    "redirectUris": ["http://127.0.0.1:*", "http://localhost:*"], "attributes": { "pkce.code.challenge.method": "S256" },
    "protocolMappers": [{ "name": "roles in the ID token", "protocol": "openid-connect", "protocolMapper": "oidc-usermodel-realm-role-mapper",
      "config": { "claim.name": "realm_access.roles", "jsonType.label": "String", "multivalued": "true", "id.token.claim": "true" } }] }],
  "users": [
    { "username": "admin", "enabled": true, "email": "admin@example.org", "emailVerified": true, "firstName": "Ada", "lastName": "Admin",
      "credentials": [{ "type": "password", "value": "secret" }], "realmRoles": ["admin"] },
    { "username": "viewer", "enabled": true, "email": "viewer@example.org", "emailVerified": true, "firstName": "Vic", "lastName": "Viewer",
      "credentials": [{ "type": "password", "value": "secret" }], "realmRoles": ["viewer"] },
    { "username": "guest", "enabled": true, "email": "guest@example.org", "emailVerified": true, "firstName": "Gus", "lastName": "Guest",
      "credentials": [{ "type": "password", "value": "secret" }] }] }
END
export KC_BOOTSTRAP_ADMIN_USERNAME=root KC_BOOTSTRAP_ADMIN_PASSWORD=secret
export JAVA_OPTS_KC_HEAP="-Xms64m -Xmx512m" JAVA_OPTS_APPEND="-XX:TieredStopAtLevel=1"
run "$DIR/keycloak/bin/kc.sh" start --optimized --http-enabled=true --http-host=127.0.0.1 --http-port="$PORT" \
  --hostname="http://127.0.0.1:$PORT" --import-realm
await 600 http "http://127.0.0.1:$PORT/realms/netgloss/.well-known/openid-configuration"
ready $VERSION issuer http://127.0.0.1:$PORT/realms/netgloss client netgloss secret secret-of-the-test-client user admin password secret
