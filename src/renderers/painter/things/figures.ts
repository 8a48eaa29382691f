/** People and animals. */
import { mix, rgb, rgbs, shade, type Colour } from '../../colour.ts';
import { blob, circle, circles, dots, ellipse, lines, path, stroke } from '../drawing.ts';
import { air, land, water, ball, flat, round, tall, type Look } from './look.ts';

const ink = '#2a2628';

export const figures = {
  person: land(
    22,
    [0.56, 0.82],
    1.5,
    '#c8483e #3f6f9a #d8a43c #5a7a5a #7a5a8a, #3a4254',
    (look, coat, trim) => {
      const skin = flat(look, look.random.pick(rgbs('#f0c8a4 #c98f66 #8a5a3c')));
      const hair = flat(look, look.random.pick(rgbs('#3a2a24 #7a4a2a #c89a50')));
      return [
        path('M-8 -34H8L9 0H2L0 -26L-3 0H-9Z', flat(look, trim)),
        blob('-12 -62, -7 -68, 7 -68, 12 -62, 13 -44, 12 -28, 0 -26, -12 -28, -13 -44', round(look, coat)),
        stroke('M-12 -60Q-19 -48 -16 -36M12 -60Q19 -48 16 -36', flat(look, coat, -0.16), 5.5),
        circle([-16, -34], 2.8, skin) + circle([16, -34], 2.8, skin),
        path('M-3 -72h6v6h-6Z', skin) + ellipse([0, -78], 8, 9.5, skin),
        blob('-9 -76, -9 -86, 0 -90, 9 -86, 9 -76, 5 -82, -4 -83', hair),
        dots('-3 -77 1, 3 -77 1', flat(look, ink)),
        stroke('M-3 -73Q0 -71 3 -73', flat(look, '#a85a4a'), 1),
      ];
    },
  ),
  snowman: land(34, [0.5, 0.7], 1.5, '#c8403a', (look, main) => [
    stroke('M-18 -50L-40 -64M-34 -60L-38 -54M18 -50L40 -66M34 -61L40 -57', flat(look, '#6a4a36'), 2.6),
    circle([0, -22], 25, ball(look, '#f8fbff')),
    circle([0, -54], 18, ball(look, '#f8fbff')),
    circle([0, -80], 13.5, ball(look, '#f8fbff')),
    path('M-14 -91H14V-94H9V-110H-9V-94H-14Z', flat(look, '#2c2c34')),
    dots('-4.5 -83 1.7, 4.5 -83 1.7, 0 -48 2, 0 -56 2, 0 -26 2', flat(look, '#2c2c34')),
    path('M0 -80L17 -77L0 -76Z', flat(look, '#ee8a3a')),
    stroke('M-12 -69Q0 -63 12 -69M8 -67L12 -52', flat(look, main), 5),
  ]),
  cat: land(32, [0.66, 0.86], 1.9, '#d98a3e #8a8f98 #4a4448 #e6d4b8', (look, fur) => {
    const pale = look.trim ?? shade(fur, 0.55);
    return [
      stroke('M18 -6C40 -2 42 -22 32 -34C28 -40 36 -46 38 -40', flat(look, fur, -0.1), 8),
      blob('-22 -2, -24 -20, -15 -44, 0 -50, 15 -44, 24 -20, 22 -2, 0 1', round(look, fur)),
      blob('-9 -10, -10 -30, 0 -42, 10 -30, 9 -10, 0 -4', flat(look, pale), 0.75),
      stroke('M-7 -2V-24M7 -2V-24M0 -3V-16', flat(look, fur, -0.35), 1.1, 0.6),
      ellipse([-8, -1], 7, 4, flat(look, pale)) + ellipse([8, -1], 7, 4, flat(look, pale)),
      ...[-1, 1].map(
        (side) =>
          path(lines(`${side * 17} -66, ${side * 15} -87, ${side * 3} -74`), flat(look, fur)) +
          path(lines(`${side * 14.5} -71, ${side * 13.5} -81, ${side * 7} -74.5`), flat(look, '#e8a8a0')),
      ),
      ellipse([0, -59], 20, 17, round(look, fur, 0.2)),
      stroke(
        'M-4 -76V-70M0 -77V-69M4 -76V-70M-21 -30H-13M-22 -22H-14M21 -30H13M22 -22H14',
        flat(look, fur, -0.32),
        1.8,
        0.55,
      ),
      ellipse([0, -52], 9, 6.5, flat(look, pale)),
      ...[-8, 8].map(
        (x) =>
          ellipse([x, -61], 4.2, 4.6, flat(look, fur[0] < 80 ? '#f2d24a' : '#4a8a4a')) +
          ellipse([x, -61], 1.5, 4, flat(look, ink)) +
          circle([x + 1, -63], 1.1, '#ffffff'),
      ),
      path('M-2.5 -55H2.5L0 -52Z', flat(look, '#d07a78')),
      stroke('M0 -52Q-3 -48 -6 -50M0 -52Q3 -48 6 -50', flat(look, ink), 0.9),
      stroke('M-7 -52L-24 -55M-7 -50L-24 -49M7 -52L24 -55M7 -50L24 -49', flat(look, '#f6f2ea'), 0.6, 0.8),
    ];
  }),
  dog: land(32, [0.66, 0.86], 1.8, '#b9803f #e2c48e #6a4a36 #d9a25a, #d0483e', (look, fur, trim) => [
    stroke('M20 -10C34 -14 38 -26 36 -36', flat(look, fur, -0.1), 7),
    blob('-23 -2, -24 -18, -16 -42, 0 -50, 16 -42, 24 -18, 23 -2, 0 1', round(look, fur)),
    blob('-9 -14, -10 -32, 0 -44, 10 -32, 9 -14, 0 -8', flat(look, fur, 0.5), 0.85),
    stroke('M-8 -2V-26M8 -2V-26', flat(look, fur, -0.4), 1.2, 0.55),
    ellipse([-9, -1], 8, 4.5, flat(look, fur, 0.5)) + ellipse([9, -1], 8, 4.5, flat(look, fur, 0.5)),
    ellipse([0, -62], 18, 18, round(look, fur, 0.2)),
    blob('-13 -76, -23 -72, -27 -54, -20 -46, -15 -58', flat(look, fur, -0.35)) +
      blob('13 -76, 23 -72, 27 -54, 20 -46, 15 -58', flat(look, fur, -0.35)),
    ellipse([0, -53], 10.5, 9, flat(look, fur, 0.5)),
    ...[-7, 7].map((x) => circle([x, -65], 2.8, flat(look, ink)) + circle([x + 0.9, -66], 0.9, '#ffffff')),
    ellipse([0, -57], 4.2, 3, flat(look, ink)),
    path('M-3.5 -48Q0 -37 3.5 -48Z', flat(look, '#e07a80')),
    stroke('M0 -54V-50Q-4 -46 -7 -49M0 -50Q4 -46 7 -49', flat(look, ink), 1),
    stroke('M-14 -45Q0 -39 14 -45', flat(look, trim), 3.2),
  ]),
  rabbit: land(24, [0.66, 0.88], 2, '#c8b49a #f2ede4 #9a8a7a', (look, fur) => {
    const ear = (x: number, lean: number): string =>
      `<g transform="rotate(${lean} ${x} -40)">${ellipse([x, -54], 4.2, 14, flat(look, fur))}${ellipse([x, -53], 2, 10, flat(look, '#eab0aa'))}</g>`;
    return [
      circle([-17, -9], 6, flat(look, fur, 0.7)),
      blob('-18 -2, -18 -18, -6 -30, 10 -26, 18 -12, 17 -1, 0 0', round(look, fur)),
      ear(2, -12) + ear(10, 10),
      ellipse([8, -32], 13, 11.5, round(look, fur, 0.2)),
      ellipse([15, -2], 7, 3.4, flat(look, fur, 0.25)) + ellipse([-8, -2], 10, 4, flat(look, fur, 0.1)),
      circle([12, -34], 2.2, flat(look, ink)) + circle([12.8, -34.8], 0.7, '#ffffff'),
      path('M18.5 -31h4l-2 2.5Z', flat(look, '#eab0aa')),
    ];
  }),
  owl: land(24, [0.6, 0.8], 2, '#8a6a4c', (look, plume) => {
    const pale = flat(look, look.trim ?? shade(plume, 0.5));
    const marks = [-26, -34, -42].flatMap((y) => [-8, 0, 8].map((x) => `M${x - 3} ${y}q3 4 6 0`)).join('');
    return [
      path('M-16 0L-13 -14H13L16 0Z', round(look, '#6a4e3a')) +
        ellipse([0, -14], 13, 3, flat(look, '#c9a77c')),
      path('M-15 -72L-8 -64H8L15 -72C20 -50 20 -24 0 -14C-20 -24 -20 -50 -15 -72Z', round(look, plume)),
      ellipse([0, -34], 11, 17, pale) + stroke(marks, flat(look, plume, -0.2), 1.1),
      ...[-6.5, 6.5].map(
        (x) =>
          circle([x, -56], 7, pale) +
          circle([x, -56], 5, '#f4c542') +
          circle([x, -56], 2.8, '#201c20') +
          circle([x + 1, -57.5], 1, '#ffffff'),
      ),
      path('M-2.5 -53H2.5L0 -47Z', flat(look, '#e0953c')),
      stroke('M-5 -14v-3M-2 -14v-3M3 -14v-3M6 -14v-3', flat(look, '#d9953c'), 1.6),
    ];
  }),
  horse: land(56, [0.5, 0.78], 1.45, '#8a5232 #6a4430 #c79a6a #e9e2d6', drawHorse),
  unicorn: land(56, [0.5, 0.78], 1.45, '#f6f2ee, #e3a9cc', (look, coat, trim) => [
    ...drawHorse({ ...look, trim: look.trim ?? trim }, coat),
    path('M48 -92L66 -122L54 -90Z', flat(look, '#e2b04a')),
  ]),
  cow: land(56, [0.5, 0.78], 1.35, '#f4efe6', (look, coat) => {
    const patch = flat(look, look.trim ?? (coat[0] > 200 ? '#3a3236' : shade(coat, 0.6)));
    return [
      path(cowLeg(-22) + cowLeg(22), flat(look, coat, -0.35)),
      stroke('M-42 -58C-52 -50 -48 -34 -50 -24', flat(look, coat, -0.2), 3) + circle([-50, -22], 3.6, patch),
      path(cowLeg(-34) + cowLeg(30), flat(look, coat, -0.1)),
      blob(
        '-44 -54, -38 -66, 0 -64, 34 -66, 44 -52, 38 -32, 10 -26, -30 -28, -44 -38',
        tall(look, coat, 0.2),
      ),
      blob('-36 -62, -18 -64, -12 -50, -24 -40, -38 -46', patch),
      blob('6 -60, 24 -62, 28 -46, 14 -36, 4 -46', patch),
      blob('38 -66, 48 -74, 58 -70, 66 -54, 62 -46, 52 -48, 42 -54', flat(look, coat)),
      blob('58 -56, 67 -54, 66 -46, 58 -46', flat(look, '#e6b0a4')),
      blob('42 -72, 32 -74, 34 -67, 42 -66', patch),
      stroke('M46 -74Q44 -84 49 -86M54 -74Q56 -83 60 -84', flat(look, '#d8cdb8'), 2.6),
      circle([53, -64], 1.8, flat(look, ink)),
      ellipse([-8, -26], 9, 5, flat(look, '#e6b0a4')),
    ];
  }),
  sheep: land(36, [0.42, 0.82], 1.7, '#f6f2e8', (look, wool) => {
    const fleece = '-22 -28 12, -12 -37 13, 3 -39 13, 16 -33 12, 20 -24 11';
    const dark = flat(look, look.trim ?? (wool[0] < 90 ? '#1e1c20' : '#3c3638'));
    return [
      path('M-18 -14h5v14h-5ZM-8 -12h5v12h-5ZM8 -12h5v12h-5ZM16 -14h5v14h-5Z', dark),
      dots(`${fleece}, -22 -20 10, -6 -19 12, 10 -19 12, 0 -28 15`, flat(look, wool, -0.16)),
      path(circles(fleece, [look.side * 2, -2], 0.7), flat(look, wool, 0.2)),
      blob('24 -40, 34 -42, 40 -32, 37 -24, 29 -25', dark),
      blob('26 -40, 18 -40, 20 -35, 27 -36', dark),
      dots('26 -42 6, 21 -40 5', flat(look, wool, 0.1)),
      circle([34, -35], 1.3, '#ffffff'),
    ];
  }),
  swan: water(38, 1.6, '#fbfaf6', (look, plume) => [
    stroke('M20 -12C34 -24 14 -38 22 -48C26 -54 32 -52 33 -47', flat(look, plume), 6),
    path('M33 -51L43 -45L33 -44Z', flat(look, '#ee8a3a')) + circle([31, -49], 1.2, flat(look, '#202024')),
    path(
      'M-36 -16C-30 -6 -20 4 0 4C18 4 28 -4 26 -14C20 -24 -8 -26 -20 -18C-26 -16 -32 -20 -36 -16Z',
      tall(look, plume, 0.2),
    ),
    path('M-32 -24C-20 -16 -10 -8 6 -6C14 -8 16 -14 10 -18C-4 -26 -20 -26 -32 -24Z', flat(look, plume, -0.1)),
  ]),
  whale: water(80, 1.4, '#40597a', (look, skin) => [
    stroke(
      'M44 -30C40 -52 28 -58 20 -56M44 -30C48 -52 60 -58 68 -56M44 -30V-62',
      flat(look, '#eaf4fa'),
      3,
      0.7,
    ),
    path(
      'M-76 4C-66 -14 -72 -30 -92 -40C-78 -44 -68 -40 -64 -34C-62 -42 -54 -48 -42 -48C-54 -38 -58 -18 -48 4Z',
      tall(look, skin),
    ),
    path('M-40 4C-20 -24 20 -36 52 -28C76 -22 84 -8 84 4Z', tall(look, skin, 0.3)),
    circle([66, -8], 2, '#f4f8fa'),
    stroke('M84 -2Q70 2 58 0', flat(look, skin, 0.5), 1.4),
  ]),
  bird: air(26, 1.5, 18, '#4a4a5c', (look, plume) => {
    const lift = look.random.between(6, 15);
    const wings = [-1, 1].map(
      (side) => `M0 0Q${side * 8} ${-lift - 3} ${side * 23} ${-lift + 2}Q${side * 10} ${-lift + 5} 0 4Z`,
    );
    return [
      path(wings.join(''), flat(look, plume)),
      ellipse([0, 1.5], 3.2, 2.4, flat(look, plume)),
      path('M2 0l6 2l-6 1.5Z', flat(look, mix(plume, rgb('#e09a3c'), 0.6))),
    ];
  }),
  butterfly: air(24, 1.5, 20, '#f08a3c #5a8ad8 #f2c84a #c86ab0', (look, wing) => [
    ...[-1, 1].map(
      (side) =>
        blob(`0 -2, ${side * 8} -18, ${side * 19} -16, ${side * 16} -4, ${side * 4} 0`, flat(look, wing)) +
        blob(`0 0, ${side * 12} 0, ${side * 13} 10, ${side * 5} 12, 0 3`, flat(look, wing, -0.14)) +
        dots(`${side * 12} -11 2.2, ${side * 8} 5 1.7`, flat(look, look.trim ?? shade(wing, 0.6))),
    ),
    stroke('M0 -6V8M0 -6L-4 -14M0 -6L4 -14', flat(look, '#2c2426'), 1.6),
  ]),
};

function hindLeg(x: number): string {
  return `M${x - 4} -46L${x + 12} -44L${x + 4} -24V0H${x - 3}L${x - 4} -22Z`;
}

function foreLeg(x: number): string {
  return `M${x - 6} -44L${x + 8} -44L${x + 4} -22V0H${x - 3}V-22Z`;
}

function cowLeg(x: number): string {
  return `M${x - 5} -34h11l-2 34h-7Z`;
}

function drawHorse(look: Look, coat: Colour): string[] {
  const mane = flat(look, look.trim ?? shade(coat, coat[0] > 200 ? -0.2 : -0.5));
  return [
    path(hindLeg(-22), flat(look, coat, -0.35)) + path(foreLeg(12), flat(look, coat, -0.35)),
    blob('-37 -60, -50 -50, -52 -30, -47 -16, -44 -32, -40 -48', mane),
    path(hindLeg(-33), flat(look, coat, -0.08)) + path(foreLeg(22), flat(look, coat, -0.08)),
    blob(
      '-38 -56, -30 -65, -12 -62, 8 -60, 20 -66, 30 -84, 40 -96, 50 -93, 62 -76, 60 -69, 53 -69, 44 -74, 39 -60, 30 -42, 8 -36, -14 -36, -34 -40',
      tall(look, coat, 0.22),
    ),
    path('M41 -93L43 -105L49 -93Z', flat(look, coat)),
    blob('44 -98, 34 -92, 24 -76, 14 -62, 22 -62, 32 -76, 40 -88', mane),
    dots('48.5 -86 1.8', flat(look, ink)) + dots('59 -73 1.1', flat(look, ink)),
    ...[-29, -18, 15, 26].map((x) => path(`M${x - 8} 0v-4h7.5v4Z`, flat(look, ink))),
  ];
}
