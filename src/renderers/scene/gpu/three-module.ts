/** What is used of the packages three and webgpu, which need not be installed: their shapes, as small as can be. */

export interface Vector3 {
  set(x: number, y: number, z: number): unknown;
}

export interface Object3D {
  position: Vector3;
  rotation: Vector3;
  scale: Vector3 & { setScalar(scale: number): unknown };
  castShadow: boolean;
  receiveShadow: boolean;
  add(...objects: Object3D[]): unknown;
  remove(...objects: Object3D[]): unknown;
  traverse(visit: (object: Partial<Mesh>) => void): void;
  lookAt(x: number, y: number, z: number): void;
  updateMatrix(): void;
  matrix: unknown;
}

export interface Attribute {
  count: number;
  getX(index: number): number;
  getY(index: number): number;
  getZ(index: number): number;
  setXYZ(index: number, x: number, y: number, z: number): unknown;
}

export interface Geometry {
  attributes: Record<'position' | 'normal', Attribute>;
  setAttribute(name: string, attribute: Attribute): unknown;
  computeVertexNormals(): void;
  rotateX(angle: number): Geometry;
  translate(x: number, y: number, z: number): Geometry;
  dispose(): void;
}

export interface SurfaceMaterial {
  colorNode: ShaderNode | null;
  emissiveNode: ShaderNode | null;
  dispose(): void;
}

export interface Mesh extends Object3D {
  geometry: Geometry;
  material: SurfaceMaterial;
}

export interface InstancedMesh extends Mesh {
  setMatrixAt(index: number, matrix: unknown): void;
  setColorAt(index: number, colour: Color): void;
}

export interface Scene extends Object3D {
  background: Texture;
  environment: Texture;
  environmentIntensity: number;
  fog: Fog;
}

export interface Fog {
  color: Color;
  near: number;
  far: number;
}

export interface Camera extends Object3D {
  fov: number;
  aspect: number;
  updateProjectionMatrix(): void;
  clearViewOffset(): void;
  setViewOffset(...sizes: number[]): void;
}

export interface DirectionalLight extends Object3D {
  color: Color;
  intensity: number;
  target: Object3D;
  shadow: {
    camera: { updateProjectionMatrix(): void };
    mapSize: { set(width: number, height: number): unknown };
    bias: number;
    normalBias: number;
    radius: number;
  };
}

export interface Color {
  setRGB(red: number, green: number, blue: number): Color;
}

export interface Texture {
  image: { data: Uint16Array; width: number; height: number };
  mapping: number;
  magFilter: number;
  minFilter: number;
  wrapS: number;
  needsUpdate: boolean;
  dispose(): void;
}

export interface RenderTarget {
  texture: Texture;
  dispose(): void;
}

/** A sky → what lights and is mirrored, for surfaces of all roughness; into the target where there is one. */
export interface EnvironmentMaker {
  fromEquirectangular(sky: Texture, target?: RenderTarget): RenderTarget;
}

export interface Renderer {
  init(): Promise<unknown>;
  shadowMap: { enabled: boolean; type: number };
  setSize(width: number, height: number, updateStyle: boolean): void;
  setRenderTarget(target: RenderTarget): void;
  render(scene: Scene, camera: Camera): void;
  readRenderTargetPixelsAsync(target: RenderTarget, ...box: number[]): Promise<Uint16Array>;
}

/** A value within a shader. */
export interface ShaderNode extends Record<'add' | 'mul', (other: ShaderNode | number) => ShaderNode> {
  x: ShaderNode;
  y: ShaderNode;
  z: ShaderNode;
}

export interface Shading extends Record<'fract' | 'floor' | 'sin', (value: ShaderNode) => ShaderNode> {
  /** A material's own colour: written into a shader as a number it would make a shader of each colour. */
  materialColor: ShaderNode;
  positionLocal: ShaderNode;
  positionWorld: ShaderNode;
  vec3(x: ShaderNode | number, y: ShaderNode | number, z: ShaderNode | number): ShaderNode;
  mx_noise_float(at: ShaderNode): ShaderNode;
  mx_fractal_noise_float(at: ShaderNode, octaves: number): ShaderNode;
  step(edge: ShaderNode | number, value: ShaderNode): ShaderNode;
  mod(value: ShaderNode, by: number): ShaderNode;
}

type Sized =
  | 'BoxGeometry'
  | 'PlaneGeometry'
  | 'SphereGeometry'
  | 'CylinderGeometry'
  | 'TorusGeometry'
  | 'CircleGeometry';
type Setting =
  | 'RGBAFormat'
  | 'HalfFloatType'
  | 'LinearFilter'
  | 'RepeatWrapping'
  | 'PCFShadowMap'
  | 'DoubleSide'
  | 'EquirectangularReflectionMapping';

export interface Three
  extends
    Record<Sized, new (...sizes: number[]) => Geometry>,
    Record<Setting, number>,
    Record<'Group' | 'Object3D', new () => Object3D>,
    Record<
      `Mesh${'Physical' | 'Standard'}NodeMaterial`,
      new (options: Record<string, unknown>) => SurfaceMaterial
    > {
  Scene: new () => Scene;
  Mesh: new (geometry: Geometry, material: SurfaceMaterial) => Mesh;
  InstancedMesh: new (geometry: Geometry, material: SurfaceMaterial, count: number) => InstancedMesh;
  PerspectiveCamera: new (fieldOfView: number, aspect: number, near: number, far: number) => Camera;
  DirectionalLight: new (colour: Color, intensity: number) => DirectionalLight;
  Color: new () => Color;
  Fog: new (colour: Color, near: number, far: number) => Fog;
  Vector2: new (x: number, y: number) => unknown;
  Vector3: new (x: number, y: number, z: number) => Vector3;
  CatmullRomCurve3: new (points: Vector3[]) => unknown;
  Shape: new (points: unknown[]) => unknown;
  Float32BufferAttribute: new (values: number[], size: number) => Attribute;
  LatheGeometry: new (points: unknown[], segments: number) => Geometry;
  TubeGeometry: new (path: unknown, segments: number, radius: number, sides: number) => Geometry;
  ExtrudeGeometry: new (shape: unknown, options: Record<string, unknown>) => Geometry;
  DataTexture: new (data: Uint16Array, ...sizesAndFormats: number[]) => Texture;
  RenderTarget: new (width: number, height: number, options: Record<string, unknown>) => RenderTarget;
  PMREMGenerator: new (renderer: Renderer) => EnvironmentMaker;
  WebGPURenderer: new (options: Record<string, unknown>) => Renderer;
  DataUtils: { toHalfFloat(value: number): number; fromHalfFloat(value: number): number };
  TSL: Shading;
}

/** The parts of the package webgpu. */
export interface WebGpu {
  create(options: string[]): {
    requestAdapter(options?: { powerPreference: string }): Promise<GpuAdapter | null>;
  };
  globals: Record<string, unknown>;
}

export interface GpuAdapter {
  info: { vendor: string; architecture: string; device: string; description: string };
  requestDevice(): Promise<GpuDevice>;
}

export interface GpuDevice {
  /** Resolves when the driver gives the device up. */
  lost: Promise<{ message: string }>;
  /** What the GPU refuses until the scope is popped is told then, and not thrown. */
  pushErrorScope(filter: 'validation' | 'out-of-memory' | 'internal'): void;
  popErrorScope(): Promise<{ message: string } | null>;
  destroy(): void;
}
