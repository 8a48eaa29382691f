/** Water: it mirrors the sky above it, carries the light of sun or moon, and moves in small waves. */
import { hex, mix, shade, type Colour } from '../colour.ts';
import { box, ellipse, path, stroke, strip, type Point } from './drawing.ts';
import { hasMoon, hasSun, seen, type Stage } from './stage.ts';
import { type River } from './terrain.ts';

export interface Water {
  top: number;
  bottom: number;
}

/** Still or open water across the picture; `mirrored` is what stands on its far side, as an element's id. */
export function paintWater(stage: Stage, water: Water, mirrored: string | undefined): string {
  const { width, drawing } = stage;
  const [near, far] = [deepColour(stage), mix(stage.palette.skyLow, deepColour(stage), 0.3)];
  const middle = mix(stage.palette.skyMiddle, near, 0.5);
  const fill = drawing.linear([0, far], [0.4, middle], [1, near]);
  const tall = water.bottom - water.top + 24;
  const area = box([0, water.top], width, tall, fill);
  const veil = drawing.linear([0, middle, 0.12], [1, near, 0.85]);
  const mirror =
    mirrored === undefined
      ? ''
      : `<g ${drawing.clip(`M0 ${water.top}H${width}V${water.top + tall}H0Z`)}><use href="#${mirrored}" transform="translate(0 ${2 * water.top}) scale(1 -1)" opacity="0.62"/></g>` +
        box([0, water.top], width, tall, veil);
  return area + mirror + waves(stage, water) + glitter(stage, water);
}

/** A river is a strip of the sky, laid into the land. */
export function paintRiver(stage: Stage, river: River): string {
  const { horizon, height } = stage;
  const edge = (side: number, more: number): Point[] =>
    Array.from({ length: 15 }, (_, index): Point => {
      const y = horizon + 7 + (height - horizon) * (index / 14);
      return [river.middleAt(y) + side * (river.halfWidthAt(y) + more), y];
    });
  const near = deepColour(stage);
  const far = mix(stage.palette.skyMiddle, near, 0.3);
  const fill = stage.drawing.linear(
    [0, far, 0],
    [0.14, far],
    [0.35, far],
    [1, mix(stage.palette.skyTop, near, 0.6)],
  );
  const outline = strip(edge(-1, 0), edge(1, 0));
  const water = { top: horizon + 8, bottom: height };
  const earth = seen(stage, '#6a6a42', 0.8);
  const bank = path(
    strip(edge(-1, 3), edge(1, 3)),
    stage.drawing.linear([0, earth, 0], [0.3, earth, 0.55], [1, earth, 0.6]),
  );
  const inside = `<g ${stage.drawing.clip(outline)}>${waves(stage, water)}${glitter(stage, water)}</g>`;
  return bank + path(outline, fill) + inside;
}

function deepColour(stage: Stage): Colour {
  const named = stage.saidColour('sea', 'lake', 'river');
  if (named !== undefined) return mix(seen(stage, named, 0.95), stage.palette.waterDeep, 0.3);
  const isTropic = stage.setting.ground === 'beach' && !stage.says('storm', 'rain');
  return mix(stage.palette.waterDeep, seen(stage, '#1fb2b0', 1), isTropic ? 0.5 : 0);
}

/** Flat lens shapes, small and many in the distance, long and few near by. */
function waves(stage: Stage, water: Water): string {
  const random = stage.random.fork('waves');
  const isStorm = stage.says('storm', 'lightning');
  const light = mix(stage.palette.skyLow, [255, 255, 255], 0.3);
  const dark = shade(deepColour(stage), -0.35);
  const count = Math.round(((170 * stage.width) / 768) * stage.detail);
  const some = (share: number): string =>
    Array.from({ length: Math.round(count * share) }, () => {
      const depth = random.next() ** 1.35;
      const y = water.top + 3 + (water.bottom - water.top) * depth;
      const x = random.between(-20, stage.width + 20);
      return lens(x, y, (5 + 62 * depth) * random.between(0.5, 1.2), 0.5 + 1.9 * depth);
    }).join('');
  const calm =
    path(some(0.5), hex(light), 0.2) + path(some(0.3), hex(light), 0.34) + path(some(0.5), hex(dark), 0.2);
  return isStorm ? calm + breakers(stage, water) : calm;
}

/** Rows of steep waves with foam on their crests. */
function breakers(stage: Stage, water: Water): string {
  const random = stage.random.fork('breakers');
  const deep = deepColour(stage);
  const foam = hex(seen(stage, '#f2f7f8', 0.85));
  return [0.1, 0.26, 0.46, 0.7, 0.94]
    .map((depth) => {
      const [long, rise] = [46 + 150 * depth, 5 + 26 * depth];
      let [x, y] = [-random.between(0, long), water.top + (water.bottom - water.top) * depth];
      let crest = `M${x.toFixed(1)} ${y.toFixed(1)}`;
      while (x < stage.width + 20) {
        const [span, lift] = [long * random.between(0.7, 1.3), rise * random.between(0.6, 1.1)];
        crest += `c${(span * 0.36).toFixed(1)} 0 ${(span * 0.4).toFixed(1)} ${(-lift).toFixed(1)} ${(span * 0.55).toFixed(1)} ${(-lift).toFixed(1)}`;
        crest += `c${(-span * 0.06).toFixed(1)} ${(lift * 0.7).toFixed(1)} ${(span * 0.16).toFixed(1)} ${lift.toFixed(1)} ${(span * 0.45).toFixed(1)} ${lift.toFixed(1)}`;
        x += span;
      }
      y += 90;
      const top = mix(deep, stage.palette.skyLow, 0.34);
      const fill = stage.drawing.linear([0, top], [0.3, deep, 0.85], [1, deep, 0]);
      return path(`${crest}V${y.toFixed(1)}H-200Z`, fill) + stroke(crest, foam, 0.7 + 1.6 * depth, 0.5);
    })
    .join('');
}

/** The road of light under sun or moon. */
function glitter(stage: Stage, water: Water): string {
  const { palette, light, setting } = stage;
  const isGrey = stage.says('storm', 'rain', 'lightning', 'snowfall');
  if (isGrey || !(hasMoon(stage) || hasSun(stage)) || setting.time === 'noon') return '';
  const random = stage.random.fork('glitter');
  const low = 1 - light.at[1] / stage.horizon;
  const tall = (water.bottom - water.top) * (0.75 + 0.25 * low);
  const dashes = Array.from({ length: 120 }, (_, index) => {
    const depth = (index / 120) ** 1.2;
    const spread = 5 + 34 * depth + 40 * low * depth;
    const x = light.at[0] + (random.next() + random.next() - 1) * spread;
    const y = water.top + 2 + tall * depth;
    return lens(x, y, (4 + 20 * depth) * random.between(0.5, 1.3), 0.5 + 1.2 * depth);
  });
  const sheen = stage.drawing.linear([0, palette.glow, 0.6], [0.5, palette.glow, 0.22], [1, palette.glow, 0]);
  const [x, y] = light.at;
  const column = ellipse(
    [x, water.top + tall * 0.3],
    26 + 30 * low,
    tall * 0.55,
    stage.drawing.radial([0, palette.glow, 0.4], [1, palette.glow, 0]),
    stage.drawing.clip(`M${x - 200} ${water.top}h400v${tall + y}h-400Z`),
  );
  const named = stage.saidColour('moon', 'sun');
  const sparkle = named === undefined ? palette.glow : shade(named, 0.4);
  return (
    column +
    path(dashes.join(''), sheen) +
    path(dashes.filter((_, index) => index % 2 === 0).join(''), hex(sparkle), 0.55)
  );
}

function lens(x: number, y: number, long: number, thick: number): string {
  const [left, mid] = [(x - long / 2).toFixed(1), y.toFixed(1)];
  const [half, bulge] = [(long / 2).toFixed(1), thick.toFixed(1)];
  return `M${left} ${mid}q${half} -${bulge} ${long.toFixed(1)} 0q-${half} ${bulge} -${long.toFixed(1)} 0Z`;
}
