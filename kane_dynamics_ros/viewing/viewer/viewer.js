// Plays how a robot moved: the arm from its URDF, the reference beside it, and plots that follow the play bar.
"use strict";

const { THREE, OrbitControls, URDFLoader, uPlot } = viewerLibraries;
const playback = JSON.parse(document.getElementById("playback").textContent);
const element = (id) => document.getElementById(id);
const duration = playback.times[playback.times.length - 1];
const MOTION = "#2a6f97", REFERENCE = "#099268";
const TRACE_POINTS = 400;
const FIELD_OF_VIEW = 40; // [degrees], from top to bottom
const CREASE = Math.cos(Math.PI / 5); // of the angle between two triangles at which an edge is sharp
const MOST_AROUND = 1000; // triangles at a point; where there are more, faces stay flat: each is held against each

// ---- The arm ----------------------------------------------------------------------------------------

function loadMesh(path, manager, material, done) {
  const mesh = playback.meshes[path];
  if (!mesh) return done(null); // the command has said why, and a rod stands for the link
  const bytes = Uint8Array.from(atob(mesh.base64), (c) => c.charCodeAt(0));
  done(new THREE.Mesh(meshGeometry(bytes.buffer, mesh.parts), mesh.parts.map((part) => partMaterial(part, material))));
}

// Both sides are drawn: files in which some triangles face inwards are common.
function partMaterial({ colour, opacity }, otherwise) {
  if (colour === null) {
    otherwise.side = THREE.DoubleSide;
    return otherwise;
  }
  const transparent = opacity < 1;
  return new THREE.MeshPhongMaterial({ color: colour, opacity, transparent, depthWrite: !transparent, side: THREE.DoubleSide });
}

// What mesh_reduction.packed packs: counts, origin and step of a grid, points and corners as small integers; the corners
// in the order of the parts.
function meshGeometry(buffer, parts) {
  const head = new DataView(buffer);
  const points = head.getUint32(0, true), triangles = head.getUint32(4, true);
  const float = (i) => head.getFloat32(8 + 4 * i, true);
  const places = new Uint16Array(buffer, 32, 3 * points);
  const start = Math.ceil((32 + 6 * points) / 4) * 4;
  const corners = new (points <= 65535 ? Uint16Array : Uint32Array)(buffer, start, 3 * triangles);
  const positions = new Float32Array(9 * triangles);
  corners.forEach((corner, i) => {
    for (let k = 0; k < 3; k++) positions[3 * i + k] = float(k) + float(3 + k) * places[3 * corner + k];
  });
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(positions, 3));
  geometry.setAttribute("normal", new THREE.BufferAttribute(cornerNormals(positions, corners, points), 3));
  let first = 0;
  parts.forEach((part, i) => {
    geometry.addGroup(first, 3 * part.triangles, i);
    first += 3 * part.triangles;
  });
  return geometry;
}

// At each corner the mean of the normals, weighted by area, of the triangles that meet there at less than the
// crease angle: curved faces look smooth, edges stay sharp.
function cornerNormals(positions, corners, points) {
  const triangles = corners.length / 3;
  const areas = new Float32Array(corners.length); // each triangle's normal, as long as twice its area
  const lengths = new Float32Array(triangles);
  const a = new THREE.Vector3(), b = new THREE.Vector3(), c = new THREE.Vector3();
  for (let i = 0; i < triangles; i++) {
    a.fromArray(positions, 9 * i);
    b.fromArray(positions, 9 * i + 3).sub(a);
    c.fromArray(positions, 9 * i + 6).sub(a);
    lengths[i] = b.cross(c).length();
    b.toArray(areas, 3 * i);
  }
  const starts = new Uint32Array(points + 1), around = new Uint32Array(corners.length);
  for (const corner of corners) starts[corner + 1]++;
  for (let i = 0; i < points; i++) starts[i + 1] += starts[i];
  const next = starts.slice();
  corners.forEach((corner, i) => { around[next[corner]++] = Math.floor(i / 3); });
  const normals = new Float32Array(3 * corners.length);
  corners.forEach((corner, i) => {
    const own = Math.floor(i / 3);
    b.fromArray(areas, 3 * own);
    const crowded = starts[corner + 1] - starts[corner] > MOST_AROUND;
    for (let k = starts[corner]; !crowded && k < starts[corner + 1]; k++) {
      const other = around[k];
      const along = areas[3 * own] * areas[3 * other] + areas[3 * own + 1] * areas[3 * other + 1]
        + areas[3 * own + 2] * areas[3 * other + 2];
      if (other !== own && along >= CREASE * lengths[own] * lengths[other]) b.add(a.fromArray(areas, 3 * other));
    }
    b.normalize().toArray(normals, 3 * i);
  });
  return normals;
}

function hasShape(link) {
  let found = false;
  for (const visual of link.children.filter((child) => child.isURDFVisual)) {
    visual.traverse((part) => { found ||= Boolean(part.isMesh); });
  }
  return found;
}

// A thin rod from a link to each of its joints, for links without a shape: none in the URDF, or a mesh not found.
function addRods(link, radius) {
  const material = new THREE.MeshPhongMaterial({ color: "#8896a5" });
  for (const joint of link.children.filter((child) => child.isURDFJoint)) {
    const length = joint.position.length();
    if (length < 2 * radius) continue;
    const rod = new THREE.Mesh(new THREE.CylinderGeometry(radius, radius, length), material);
    rod.position.copy(joint.position).multiplyScalar(0.5);
    rod.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), joint.position.clone().normalize());
    link.add(rod);
  }
}

function loadArm() {
  const loader = new URDFLoader();
  loader.packages = (name) => `package://${name}`;
  loader.loadMeshCb = loadMesh;
  const arm = loader.parse(playback.urdf);
  for (const link of Object.values(arm.links)) {
    if (!hasShape(link)) addRods(link, 0.008);
  }
  for (const joint of Object.values(arm.joints)) joint.ignoreLimits = true; // show what was recorded
  for (const [name, value] of Object.entries(playback.held)) arm.setJointValue(name, value);
  return arm;
}

function makeGhost(arm) {
  const material = new THREE.MeshPhongMaterial({
    color: REFERENCE, transparent: true, opacity: 0.4, depthWrite: false, polygonOffset: true, polygonOffsetFactor: 4,
    polygonOffsetUnits: 4,
  });
  arm.traverse((part) => { if (part.isMesh) part.material = material; });
  return arm;
}

// The samples are dense, so between two of them a straight line will do.
function valueAt(values, time) {
  const times = playback.times;
  let low = 0, high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle; else high = middle;
  }
  const span = times[high] - times[low];
  const share = span > 0 ? Math.min(Math.max((time - times[low]) / span, 0), 1) : 0;
  return values[low] + share * (values[high] - values[low]);
}

function pose(arm, motion, time) {
  playback.joints.forEach((name, i) => arm.setJointValue(name, valueAt(motion[i], time)));
  arm.updateMatrixWorld(true);
}

function tipPosition(arm) {
  return arm.links[playback.tip].getWorldPosition(new THREE.Vector3());
}

function trace(arm, motion, colour) {
  const points = [];
  for (let i = 0; i <= TRACE_POINTS; i++) {
    pose(arm, motion, (duration * i) / TRACE_POINTS);
    points.push(tipPosition(arm));
  }
  const geometry = new THREE.BufferGeometry().setFromPoints(points);
  return new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: colour }));
}

// ---- The scene --------------------------------------------------------------------------------------

function addSurroundings(scene, size, floor) {
  const grid = new THREE.GridHelper(6 * size, 30, "#aab4be", "#cdd5dc");
  grid.rotation.x = Math.PI / 2;
  grid.position.z = floor;
  const sun = new THREE.DirectionalLight("#ffffff", 2);
  sun.position.set(size, -2 * size, 3 * size);
  scene.add(grid, new THREE.AxesHelper(0.3 * size), new THREE.HemisphereLight("#ffffff", "#99a3ad", 2), sun);
}

// From the side of the motion, a little from its front and from above; the root link stands at the origin.
function viewDirection(centre) {
  const out = new THREE.Vector3(centre.x, centre.y, 0);
  if (out.length() < 1e-3) out.set(1, 0, 0);
  out.normalize();
  return new THREE.Vector3(0.5 * out.x + out.y, 0.5 * out.y - out.x, 0.5).normalize();
}

// From where all within a radius is in view, in a scene of any proportions.
function distanceFor(radius) {
  const { clientWidth, clientHeight } = element("scene");
  const half = Math.tan((FIELD_OF_VIEW / 2) * (Math.PI / 180)) * Math.min(1, clientWidth / clientHeight);
  return radius / Math.sin(Math.atan(half));
}

// Without WebGL the plots can still be read.
function makeRenderer() {
  try {
    return new THREE.WebGLRenderer({ antialias: true, alpha: true, preserveDrawingBuffer: true });
  } catch {
    element("scene").textContent =
      "This browser offers no WebGL, which draws the arm: turn on its graphics acceleration, or take another browser.";
    return null;
  }
}

function makeStage() {
  const scene = new THREE.Scene();
  const arm = loadArm();
  const ghost = playback.reference ? makeGhost(loadArm()) : null;
  scene.add(arm, trace(arm, playback.position, MOTION));
  if (ghost) scene.add(ghost, trace(ghost, playback.reference, REFERENCE));
  const bounds = new THREE.Box3().setFromObject(scene);
  const size = bounds.getSize(new THREE.Vector3()).length() / 2;
  const centre = bounds.getCenter(new THREE.Vector3());
  addSurroundings(scene, size, bounds.min.z);

  const renderer = makeRenderer();
  const camera = new THREE.PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01 * size, 50 * size);
  camera.up.set(0, 0, 1);
  camera.position.copy(centre).addScaledVector(viewDirection(centre), distanceFor(size));
  const controls = new OrbitControls(camera, renderer ? renderer.domElement : element("scene"));
  controls.target.copy(centre);
  controls.update();
  if (renderer) element("scene").append(renderer.domElement);
  return { scene, arm, ghost, renderer, camera, controls };
}

const stage = makeStage();

function draw() {
  if (stage.renderer) stage.renderer.render(stage.scene, stage.camera);
}

function fitScene() {
  if (!stage.renderer) return;
  const { clientWidth: width, clientHeight: height } = element("scene");
  stage.renderer.setPixelRatio(window.devicePixelRatio);
  stage.renderer.setSize(width, height);
  stage.camera.aspect = width / height;
  stage.camera.updateProjectionMatrix();
  draw();
}

// ---- The plots --------------------------------------------------------------------------------------

let plots = [];

// The axes are labelled in thousandths at best; what varies by less, as rounding does, is not blown up.
const SMALLEST_SPAN = 4e-3;

function plotRange(_, low, high) {
  const wider = Math.max(0, SMALLEST_SPAN - (high - low)) / 2;
  return uPlot.rangeNum(low - wider, high + wider, 0.1, true);
}

// The widest even steps of 1, 2 or 5 that give two labels at least, however low the plot is.
function plotTicks(_, __, low, high) {
  for (let exponent = Math.ceil(Math.log10(high - low)); exponent > -9; exponent--) {
    for (const digit of [5, 2, 1]) {
      const step = digit * 10 ** exponent, first = Math.ceil(low / step);
      const count = Math.floor(high / step) - first + 1;
      if (count >= 2) return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(9)));
    }
  }
  return [low];
}

function plotOptions(title, quantity, width, height, last) {
  const strokes = { motion: { stroke: MOTION, width: 1.5 }, reference: { stroke: REFERENCE, width: 1.5, dash: [6, 4] } };
  return {
    title: `${title} [${quantity.units[playback.joints.indexOf(title)]}]`,
    width, height, legend: { show: false }, cursor: { drag: { setScale: false } },
    scales: { x: { time: false }, y: { range: plotRange } },
    axes: [last ? { size: 28 } : { size: 6, values: () => [] }, { size: 60, splits: plotTicks }],
    series: [{}, ...quantity.curves.map((curve) => ({ label: curve.label, ...strokes[curve.role] }))],
  };
}

function makePlot(name, i, quantity, count, last) {
  const holder = element("plots");
  const width = holder.clientWidth, height = Math.max((holder.clientHeight - 22) / count - 24, 72);
  const data = [playback.times, ...quantity.curves.map((curve) => curve.values[i])];
  const now = document.createElement("div");
  now.className = "now";
  const options = plotOptions(name, quantity, width, height + (last ? 22 : 0), last);
  const plot = new uPlot({ ...options, hooks: { ready: [(ready) => placeNow(ready, now)] } }, data, holder);
  plot.over.append(now);
  plot.over.addEventListener("click", (event) => seek(plot.posToVal(event.offsetX, "x")));
  return { plot, now };
}

function placeNow(plot, now) {
  now.style.left = `${plot.valToPos(time, "x")}px`;
}

function showQuantity() {
  plots.forEach(({ plot }) => plot.destroy());
  element("plots").textContent = "";
  const quantity = playback.quantities[element("quantity").selectedIndex];
  const told = (values) => values.some((value) => value !== null);
  const joints = playback.joints.map((_, i) => i).filter((i) => quantity.curves.some(({ values }) => told(values[i])));
  plots = joints.map((i, k) => makePlot(playback.joints[i], i, quantity, joints.length, k === joints.length - 1));
  if (!joints.length) element("plots").textContent = "nothing was recorded of this quantity";
  seek(time);
}

// ---- The play bar -----------------------------------------------------------------------------------

let time = 0, playing = false, lastFrame = 0;

function seek(to) {
  time = Math.min(Math.max(to, 0), duration);
  pose(stage.arm, playback.position, time);
  if (stage.ghost) pose(stage.ghost, playback.reference, time);
  plots.forEach(({ plot, now }) => placeNow(plot, now));
  element("time").value = time;
  element("clock").textContent = `${time.toFixed(2)} / ${duration.toFixed(2)} s`;
  draw();
}

function frame(now) {
  if (!playing) return;
  const next = time + ((now - lastFrame) / 1000) * Number(element("speed").value);
  lastFrame = now;
  seek(next >= duration ? 0 : next);
  requestAnimationFrame(frame);
}

function setPlaying(on) {
  playing = on;
  element("play").textContent = on ? "Pause" : "Play";
  if (on) requestAnimationFrame((now) => { lastFrame = now; frame(now); });
}

function onKey(event) {
  if (event.target.tagName === "SELECT") return;
  const step = { ArrowLeft: -0.1, ArrowRight: 0.1 }[event.key];
  if (event.key === " ") setPlaying(!playing);
  else if (step) seek(time + step);
  else return;
  event.preventDefault();
}

function start() {
  const shown = [["motion", playback.motion_label]];
  if (stage.ghost) shown.push(["reference", "reference"]);
  for (const [role, label] of shown) {
    const entry = document.createElement("span");
    entry.className = role;
    entry.textContent = label;
    element("legend").append(entry);
  }
  playback.quantities.forEach(({ label }) => element("quantity").add(new Option(label)));
  element("time").max = duration;
  element("time").addEventListener("input", (event) => seek(Number(event.target.value)));
  element("play").addEventListener("click", () => setPlaying(!playing));
  element("quantity").addEventListener("change", showQuantity);
  document.addEventListener("keydown", onKey);
  stage.controls.addEventListener("change", draw);
  window.addEventListener("resize", () => { fitScene(); showQuantity(); });
  time = Number(new URLSearchParams(location.hash.slice(1)).get("t") || 0);
  fitScene();
  showQuantity();
}

start();

// ---- For scripts that drive the page, as the tests do -------------------------------------------------

function shapes() {
  let count = 0;
  stage.arm.traverse((part) => { count += part.isMesh ? 1 : 0; });
  return count;
}

const tip = (which) => tipPosition(stage[which]).toArray();
window.viewer = { seek, setPlaying, time: () => time, arm: () => stage.arm, shapes, tip };
