#!/usr/bin/env bash
# Bundle the viewer's libraries, and their licences, into kane_dynamics_ros/viewing/viewer. Needs npm.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
viewer=$here/../../kane_dynamics_ros/viewing/viewer
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cp "$here/package.json" "$here/libraries.js" "$work"; cd "$work"
npm install --silent
# urdf-loader's own readers of mesh files are left out: the page holds triangles, not files
echo "export const STLLoader = null, ColladaLoader = null;" > no_loaders.js
npx esbuild libraries.js --bundle --minify --format=iife --global-name=viewerLibraries \
  --alias:three/examples/jsm/loaders/STLLoader.js=./no_loaders.js \
  --alias:three/examples/jsm/loaders/ColladaLoader.js=./no_loaders.js \
  --legal-comments=none --charset=ascii --outfile="$viewer/libraries.min.js"
cp node_modules/uplot/dist/uPlot.min.css "$viewer/uplot.min.css"
{
  echo "libraries.min.js and uplot.min.css hold the libraries below, unchanged except for bundling,"
  echo "without the readers of mesh files that urdf-loader brings."
  for name in three uplot; do
    printf '\n== %s %s ==\n\n' "$name" "$(node -p "require('./node_modules/$name/package.json').version")"
    cat "node_modules/$name/LICENSE"; echo
  done
  printf '\n== urdf-loader %s ==\n\n' "$(node -p "require('./node_modules/urdf-loader/package.json').version")"
  echo "Apache License, Version 2.0: the text is in this package's LICENSE."
} > "$viewer/LICENSES.txt"
