#!/bin/sh
# Puts secrets that are mounted as files into the environment of one command, and becomes that command:
#   with-secrets.sh assay listen
# A file that is missing or empty leaves its variable unset.
set -eu
from=${ASSAY_SECRETS:-/run/secrets}
take() {
    if [ -s "$from/$2" ]; then
        value=$(cat "$from/$2")
        export "$1=$value"
    fi
}
take LABEL_STUDIO_API_KEY label_studio_token
take ASSAY_WEBHOOK_SECRET webhook_secret
take ASSAY_ALERTS alerts
exec "$@"
