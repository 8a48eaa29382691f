/**
 * Measures the contrast between texts of a page and their background, with the colours that the browser really uses.
 */
import type { Page } from 'playwright-core';

export interface Contrast {
  text: string;
  /** Contrast ratio of WCAG 2, from 1 to 21. */
  ratio: number;
}

/** Returns the contrast of every text that is visible and not disabled. */
export async function contrasts(page: Page): Promise<Contrast[]> {
  const seen = await page.evaluate<{ text: string; front: string; backs: string[] }[]>(`
    [...document.querySelectorAll('body *')]
      .filter((each) => each.checkVisibility() && !each.matches(':disabled, option, script, style, .unseen'))
      .map((each) => ({
        text: [...each.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join('').trim(),
        front: getComputedStyle(each).color,
        backs: (function up(at) { return at === null ? [] : [getComputedStyle(at).backgroundColor, ...up(at.parentElement)]; })(each),
      }))
      .filter(({ text }) => text !== '')
  `);
  return seen.map(({ text, front, backs }) => {
    const back = backs.map(channels).find(([, , , alpha = 1]) => alpha > 0) ?? [255, 255, 255];
    const [light = 0, dark = 0] = [luminance(channels(front)), luminance(back)].toSorted((a, b) => b - a);
    return { text, ratio: (light + 0.05) / (dark + 0.05) };
  });
}

/** Returns red, green, blue, and alpha if the colour has it. */
function channels(color: string): number[] {
  return [...color.matchAll(/[\d.]+/g)].map(([number]) => Number(number));
}

function luminance([red = 0, green = 0, blue = 0]: number[]): number {
  const [r = 0, g = 0, b = 0] = [red, green, blue].map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
