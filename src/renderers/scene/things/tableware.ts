/** What is set on a table: vessels, candles; and the form for what is not known. */
import type { Look } from './look.ts';
import { ball, bend, box, lump, post, ring, rod, slab, turned, type Part } from './parts.ts';

export function cup(look: Look): Part[] {
  const clay = look.main('#f2efe8', 'glossy');
  return [
    turned(
      [0, 0, 0],
      '0 0, 0.032 0, 0.036 0.006, 0.044 0.03, 0.047 0.09, 0.044 0.09, 0.04 0.03, 0 0.02',
      clay,
    ),
    bend('0.045 0.075 0, 0.07 0.075 0, 0.078 0.05 0, 0.066 0.026 0, 0.043 0.025 0', 0.0065, clay),
    post([0, 0.079, 0], 0.043, 0.002, look.own('#4a2c1a', 'glossy')),
  ];
}

export function glass(look: Look): Part[] {
  const clear = look.main('#dfeef2', 'glass');
  return [
    turned(
      [0, 0, 0],
      '0 0, 0.036 0, 0.035 0.004, 0.006 0.01, 0.005 0.09, 0.02 0.1, 0.04 0.13, 0.042 0.16, 0.034 0.2',
      { ...clear, material: 'glass' },
    ),
    turned(
      [0, 0.1, 0],
      '0 0.002, 0.018 0.004, 0.037 0.032, 0.039 0.055, 0 0.055',
      look.trim('#7a1428', 'glossy'),
    ),
  ];
}

export function bottle(look: Look): Part[] {
  return [
    turned(
      [0, 0, 0],
      '0 0, 0.038 0, 0.04 0.01, 0.04 0.17, 0.034 0.2, 0.016 0.235, 0.014 0.29, 0 0.29',
      look.main('#2f6b42', 'glossy'),
    ),
    post([0, 0.105, 0], 0.0408, 0.085, look.trim('#efe6d0')),
    post([0, 0.11, 0], 0.0412, 0.012, look.own('#b5342c')),
    post([0, 0.287, 0], 0.0165, 0.03, look.own('#c9a04a', 'metal')),
  ];
}

export function can(look: Look): Part[] {
  const tin = look.own('#c9ced4', 'metal');
  return [
    post([0, 0.08, 0], 0.036, 0.13, look.main('#c8372d', 'metal')),
    post([0, 0.082, 0], 0.0364, 0.03, look.trim('#f2efe8')),
    post([0, 0.009, 0], [0.036, 0.029], 0.014, tin),
    post([0, 0.151, 0], [0.03, 0.036], 0.014, tin),
    box([0, 0.1595, 0.008], [0.012, 0.003, 0.024], tin, [0, 0, 0], 0.001),
  ];
}

export function juice(look: Look): Part[] {
  return [
    post([0, 0.085, 0], [0.042, 0.034], 0.17, { ...look.own('#dfeef2', 'glass'), material: 'glass' }),
    post([0, 0.072, 0], [0.038, 0.0325], 0.134, look.main('#f29a1f', 'glossy')),
  ];
}

export function bowl(look: Look): Part[] {
  return [
    turned(
      [0, 0, 0],
      '0 0, 0.06 0, 0.062 0.012, 0.12 0.05, 0.155 0.1, 0.147 0.1, 0.11 0.052, 0 0.03',
      look.main('#5c86a8', 'glossy'),
    ),
    ring([0, 0.1, 0], 0.151, 0.005, look.trim('#f4efe4', 'glossy')),
  ];
}

export function plate(look: Look): Part[] {
  return [
    turned(
      [0, 0, 0],
      '0 0, 0.08 0, 0.09 0.006, 0.135 0.02, 0.134 0.024, 0.088 0.011, 0 0.008',
      look.main('#f6f3ec', 'glossy'),
    ),
    ring([0, 0.021, 0], 0.131, 0.003, look.trim('#4f7fb8', 'glossy')),
  ];
}

export function vase(look: Look): Part[] {
  const clay = look.main('#4f7fa8', 'glossy');
  return [
    turned(
      [0, 0, 0],
      '0 0, 0.055 0, 0.06 0.01, 0.095 0.1, 0.085 0.19, 0.045 0.26, 0.055 0.3, 0.048 0.3, 0.037 0.26, 0 0.2',
      clay,
    ),
    ring([0, 0.1, 0], 0.0945, 0.004, look.trim('#f0e8d8', 'glossy')),
    ring([0, 0.3, 0], 0.052, 0.005, look.trim('#f0e8d8', 'glossy')),
  ];
}

export function teapot(look: Look): Part[] {
  const clay = look.main('#c9503f', 'glossy');
  return [
    ball([0, 0.09, 0], [0.2, 0.17, 0.2], clay),
    post([0, 0.012, 0], 0.06, 0.02, clay),
    ball([0, 0.165, 0], [0.1, 0.03, 0.1], look.trim('#e8d8b8', 'glossy')),
    ball([0, 0.19, 0], 0.03, look.trim('#e8d8b8', 'glossy')),
    bend('0.08 0.07 0, 0.13 0.09 0, 0.15 0.14 0, 0.175 0.16 0', 0.015, clay),
    bend('-0.085 0.13 0, -0.14 0.15 0, -0.15 0.08 0, -0.085 0.05 0', 0.01, clay),
  ];
}

export function candle(look: Look): Part[] {
  return [
    post([0, 0.012, 0], [0.06, 0.07], 0.024, look.trim('#c9a04a', 'metal')),
    post([0, 0.13, 0], 0.03, 0.22, look.main('#f4ecd8')),
    rod([0, 0.24, 0], [0, 0.262, 0], 0.003, look.own('#2a2420')),
    turned([0, 0.255, 0], '0 0, 0.013 0.014, 0.01 0.03, 0 0.055', look.own('#ffc64a', 'glow')),
  ];
}

export function form(look: Look): Part[] {
  const clay = look.main('#cfc6b8', 'matt');
  return [
    post([0, 0.06, 0], [0.38, 0.42], 0.12, look.trim('#8f897f', 'stone')),
    lump([0, 0.5, 0], [0.52, 0.78, 0.5], 0.34, look.random.whole(0, 99), clay),
    lump([0.08, 1.02, 0.02], [0.4, 0.5, 0.36], 0.3, look.random.whole(0, 99), clay),
    slab([0, 0.1, 0.42], '-0.12 0, 0.12 0, 0.12 0.05, -0.12 0.05', 0.01, look.own('#c9a04a', 'metal')),
    box([0, 0.12, 0], [0.5, 0.02, 0.5], look.trim('#8f897f', 'stone')),
  ];
}
