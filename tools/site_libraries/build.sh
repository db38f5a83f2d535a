#!/usr/bin/env bash
# Put KaTeX, which typesets the site's equations, and its licence into docs/assets/katex. Needs npm.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
assets=$here/../../docs/assets/katex
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cp "$here/package.json" "$work"; cd "$work"
npm install --silent
katex=node_modules/katex
mkdir -p "$assets/fonts"
cp "$katex/dist/katex.min.js" "$katex/dist/katex.min.css" "$katex/dist/contrib/auto-render.min.js" "$katex/LICENSE" "$assets"
cp "$katex"/dist/fonts/*.woff2 "$assets/fonts"
