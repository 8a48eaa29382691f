/** Sun and sky as lamps that throw shadows, and how they are moved from pass to pass to soften them. */
import type { Light } from '../picture/daylight.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { across, lengthOf, mean, minus, plus, times, type Vector } from '../vector.ts';
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
  const center = mean(box.low, box.high);
  const reach = 0.62 * lengthOf(minus(box.high, box.low)) + 0.4;
  const away = lengthOf(minus(view.from, center));
  burn(sun, daylight.sun, Math.max(reach * 1.5, Math.min(away * 0.5, reach * 2.4)), center);
  burn(sky, times(daylight.sky, 1.5), reach * 1.5, center);
  const softness = daylight.isStudio ? 0.09 : 0.028;
  return (pass, passes) => {
    const aside = passes > 1 ? softness * Math.sqrt((pass + 0.5) / passes) : 0;
    sun.position.set(...plus(center, times(spread(daylight.sunAt, aside, pass * goldenAngle), reach * 4)));
    sky.position.set(...plus(center, times(skyDirection(pass, passes), reach * 4)));
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

/** A direction beside another, by an angle. */
function spread(at: Vector, by: number, around: number): Vector {
  const [right, above] = across(at);
  const aside = plus(times(right, Math.cos(around) * by), times(above, Math.sin(around) * by));
  const [x, y, z] = plus(at, aside);
  return [x, Math.max(0.04, y), z];
}

/** Evenly over the sky, more from above than from the horizon. */
function skyDirection(pass: number, passes: number): Vector {
  const out = passes === 1 ? 0.3 : Math.sqrt((pass + 0.5) / passes) * 0.96;
  const around = pass * goldenAngle + 0.8;
  return [Math.cos(around) * out, Math.sqrt(1 - out * out), Math.sin(around) * out];
}
