#!/usr/bin/env bash
# Builds the page anew and fails if web/dist is not what comes out.
set -euo pipefail
cd "$(dirname "$0")"
command -v npm >/dev/null || { echo "npm is missing: install Node 20 or newer" >&2; exit 1; }
[ -d node_modules ] && [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
npx --no-install tsc --noEmit
npx --no-install vite build --outDir "$fresh" --emptyOutDir
if ! diff -rq dist "$fresh"; then
  echo "web/dist is not what web/src builds: run npm run build in web, and commit it" >&2
  exit 1
fi
echo "web/dist is current"
