/** JSON as people can look at it: without the pictures in it, which are shown as such. */

/** What stands in the page as text. */
const longestText = 256 * 1024;
const longestString = 300;

const mostPictures = 12;
const mostPictureBytes = 40 * 1024 * 1024;

/** The text with its long strings cut; null where there is none, or more than can be shown. */
export function shownJson(text: string | null): string | null {
  if (text === null) return null;
  const value = parse(text);
  if (value === undefined) return null;
  const shown = JSON.stringify(
    value,
    (_key, inner: unknown) => (typeof inner === 'string' ? cut(inner) : inner),
    2,
  );
  return shown.length <= longestText ? shown : null;
}

function cut(text: string): string {
  if (text.length <= longestString) return text;
  return `${text.slice(0, 60)}… (${text.length} characters)`;
}

/** Data URIs of the pictures in an output, as far as they can be shown at once. */
export function picturesIn(text: string | null): string[] {
  const pictures: string[] = [];
  let length = 0;
  const look = (value: unknown): void => {
    if (typeof value === 'string') {
      const picture = pictureOf(value);
      if (picture === undefined || pictures.length >= mostPictures) return;
      length += picture.length;
      if (length <= mostPictureBytes) pictures.push(picture);
    } else if (typeof value === 'object' && value !== null) Object.values(value).forEach(look);
  };
  look(text === null ? undefined : parse(text));
  // The same picture often stands under two names.
  return [...new Set(pictures)];
}

/** How the base64 of each format begins. */
const beginnings: Record<string, RegExp> = {
  'image/png': /^iVBORw0KGgo/,
  'image/jpeg': /^\/9j\//,
  'image/webp': /^UklGR/,
};

function pictureOf(text: string): string | undefined {
  const data = /^data:(image\/(?:png|jpeg|webp));base64,/.exec(text);
  const base64 = data === null ? text : text.slice(data[0].length);
  const [type] = Object.entries(beginnings).find(([, beginning]) => beginning.test(base64)) ?? [];
  return type === undefined || base64.length < 60 ? undefined : `data:${type};base64,${base64}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
