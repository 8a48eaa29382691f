/** Sun and sky as lamps that throw shadows, and how they are moved from pass to pass to soften them. */
import { times, type Light } from '../picture/daylight.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { each } from '../things/bounds.ts';
import type { Vector } from '../things/parts.ts';
import type { DirectionalLight, Three } from './three-module.ts';

export interface Lamps {
  sun: DirectionalLight;
  sky: DirectionalLight;
}

export function makeLamps(three: Three): Lamps {
  return { sun: lampOf(three, 2048, 2), sky: lampOf(three, 1024, 6) };
}

function lampOf(three: Three, size: number, radius: number): DirectionalLight {
  const lamp = new three.DirectionalLight(new three.Color(), 1);
  lamp.castShadow = true;
  lamp.shadow.mapSize.set(size, size);
  lamp.shadow.bias = -0.0006;
  lamp.shadow.radius = radius;
  return lamp;
}

/** Lights a plan; the answer puts the lamps where they stand in a pass of so many. */
export function light({ sun, sky }: Lamps, plan: PicturePlan): (pass: number, passes: number) => void {
  const { daylight, box, view } = plan;
  const center = each((axis) => (box.low[axis] + box.high[axis]) / 2);
  const reach = 0.62 * lengthOf(between(box.high, box.low)) + 0.4;
  const away = lengthOf(between(view.from, center));
  burn(sun, daylight.sun, Math.max(reach * 1.5, Math.min(away * 0.5, reach * 2.4)), center);
  burn(sky, times(daylight.sky, 1.5), reach * 1.5, center);
  const softness = daylight.isStudio ? 0.09 : 0.028;
  return (pass, passes) => {
    const aside = passes > 1 ? softness * Math.sqrt((pass + 0.5) / passes) : 0;
    put(sun, spread(daylight.sunAt, aside, pass * goldenAngle), center, reach);
    put(sky, skyDirection(pass, passes), center, reach);
  };
}

const goldenAngle = Math.PI * (3 - Math.sqrt(5));

function burn(
  { color, shadow, target }: DirectionalLight,
  bright: Light,
  reach: number,
  center: Vector,
): void {
  color.setRGB(...bright);
  Object.assign(shadow.camera, {
    left: -reach,
    right: reach,
    top: reach,
    bottom: -reach,
    near: 0.05,
    far: reach * 8,
  });
  shadow.camera.updateProjectionMatrix();
  shadow.normalBias = reach * 0.004;
  target.position.set(...center);
}

function put(lamp: DirectionalLight, at: Vector, center: Vector, reach: number): void {
  const far = reach * 4;
  lamp.position.set(center[0] + at[0] * far, center[1] + at[1] * far, center[2] + at[2] * far);
}

/** A direction beside another, by an angle. */
function spread(at: Vector, by: number, around: number): Vector {
  const flat = Math.hypot(at[0], at[2]) || 1;
  const right: Vector = [at[2] / flat, 0, -at[0] / flat];
  const above: Vector = [at[1] * right[2], at[2] * right[0] - at[0] * right[2], -at[1] * right[0]];
  const [a, b] = [Math.cos(around) * by, Math.sin(around) * by];
  return [
    at[0] + right[0] * a + above[0] * b,
    Math.max(0.04, at[1] + right[1] * a + above[1] * b),
    at[2] + right[2] * a + above[2] * b,
  ];
}

/** Evenly over the sky, more from above than from the horizon. */
function skyDirection(pass: number, passes: number): Vector {
  const out = passes === 1 ? 0.3 : Math.sqrt((pass + 0.5) / passes) * 0.96;
  const around = pass * goldenAngle + 0.8;
  return [Math.cos(around) * out, Math.sqrt(1 - out * out), Math.sin(around) * out];
}

function between(one: Vector, other: Vector): Vector {
  return [one[0] - other[0], one[1] - other[1], one[2] - other[2]];
}

function lengthOf(vector: Vector): number {
  return Math.hypot(...vector);
}
