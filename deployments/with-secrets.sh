#!/bin/sh
# Puts secrets that are mounted as files into the environment of one command, and becomes that command:
#   with-secrets.sh assay listen
# A file that is missing or empty leaves its variable unset. What Prefect's API asks for is `assay:` and a password.
set -eu
from=${ASSAY_SECRETS:-/run/secrets}
take() {
    if [ -s "$from/$2" ]; then
        value=$(cat "$from/$2")
        export "$1=${3:-}$value"
    fi
}
take PREFECT_API_AUTH_STRING prefect_api_password assay:
take LABEL_STUDIO_API_KEY label_studio_token
take ASSAY_WEBHOOK_SECRET webhook_secret
take ASSAY_ALERTS alerts
take ASSAY_SERVE_TOKEN serve_token
exec "$@"
