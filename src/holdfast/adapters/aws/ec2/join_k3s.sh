#!/bin/sh
# Joins this machine to a k3s cluster.  Made by Holdfast; it holds no secret.
set -u
umask 077
url=@url@
version=@version@
parameter=@parameter@
ca_hash=@ca_hash@
patience_s=@patience_s@

imds=http://169.254.169.254/latest
token_file=/etc/holdfast/k3s-token
work=$(mktemp -d)
last=

say() {
    [ "$*" = "$last" ] || echo "holdfast: $*"
    last="$*"
}

about() {
    curl -sf --max-time 5 -H "X-aws-ec2-metadata-token: $session" "$imds/meta-data/$1"
}

who_am_i() {
    ttl='X-aws-ec2-metadata-token-ttl-seconds: 300'
    session=$(curl -sf --max-time 5 -X PUT -H "$ttl" "$imds/api/token") &&
        id=$(about instance-id) &&
        zone=$(about placement/availability-zone) &&
        region=$(about placement/region) &&
        type=$(about instance-type) &&
        capacity=$(about instance-life-cycle) &&
        return
    say "the metadata service does not answer: waiting for it"
    return 1
}

# Any answer will do where the agent itself compares the authority with its token.
server_is_right() {
    if ! curl -sk --max-time 10 -o "$work/ca" "$url/cacerts"; then
        say "$url does not answer: waiting for it"
        return 1
    fi
    [ -n "$ca_hash" ] || return 0
    found=$(sha256sum < "$work/ca")
    found=${found%% *}
    [ "$found" = "$ca_hash" ] && return
    say "NOT JOINING: what $url/cacerts serves has the SHA-256 $found, but k3s_ca_hash is $ca_hash." \
        "Nothing was sent to that server. If its authority was renewed, set k3s_ca_hash to the new value"
    return 1
}

read_token() {
    token=$(aws ssm get-parameter --region "$region" --name "$parameter" --with-decryption \
        --query Parameter.Value --output text 2> "$work/why") &&
        [ -n "$token" ] && [ "$token" != None ] && return
    say "cannot read the parameter $parameter in $region ($(tr '\n' ' ' < "$work/why"))." \
        "The instance profile needs ssm:GetParameter on it, and kms:Decrypt on its key"
    return 1
}

# The full form of a token names the authority, so that the agent compares it too.
write_token() {
    case "$token" in
    *::server:*) say "WARNING: $parameter holds the server's token: store the agent's instead" ;;
    K10*) ;;
    *)
        if [ -z "$ca_hash" ]; then
            say "WARNING: no k3s_ca_hash, and no hash in the token: the server's authority is taken on trust"
        elif [ "$(grep -c 'BEGIN CERTIFICATE' "$work/ca")" = 1 ]; then
            case "$token" in
            [a-z0-9][a-z0-9][a-z0-9][a-z0-9][a-z0-9][a-z0-9].????????????????) token="K10$ca_hash::$token" ;;
            *) token="K10$ca_hash::node:$token" ;;
            esac
        fi
        ;;
    esac
    mkdir -p "${token_file%/*}" && printf '%s\n' "$token" > "$token_file"
}

k3s_installer() {
    INSTALL_K3S_VERSION=$version K3S_URL=$url K3S_TOKEN_FILE=$token_file "$@" sh "$work/install" agent \
@flags@
}

download() {
    [ ! -e "$work/downloaded" ] || return 0
    curl -sfL --max-time 60 -o "$work/install" https://get.k3s.io &&
        k3s_installer env INSTALL_K3S_SKIP_START=true &&
        : > "$work/downloaded" && return
    say "k3s $version cannot be installed: trying again. The machine needs a way to the internet"
    return 1
}

# The unit says when it is ready, and the installer waits for that: so its success is the joining.
start_agent() {
    k3s_installer timeout "$patience_s" \
        env INSTALL_K3S_SKIP_DOWNLOAD=true INSTALL_K3S_FORCE_RESTART=true && return
    say "the agent was not ready within $patience_s s: it is started again with the token as it is then." \
        "If this goes on, the token in $parameter is wrong, or the server is not reachable on port 6443"
    return 1
}

until who_am_i; do sleep 2; done
if ! command -v aws > /dev/null && ! snap install aws-cli --classic; then
    say "NOT JOINING: this image has no aws command. Use one that has, such as Amazon Linux 2023"
    exit 1
fi
until server_is_right && read_token && write_token && download && start_agent; do sleep 5; done
rm -rf "$work"
say "joined as $id"
