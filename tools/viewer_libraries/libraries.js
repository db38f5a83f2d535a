// What the viewer uses of three.js, urdf-loader and uPlot, as globals of one script.
export * as THREE from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
export { default as URDFLoader } from "urdf-loader";
export { default as uPlot } from "uplot";
