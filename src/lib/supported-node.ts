/** The versions of Node that this program supports. Loads nothing, so that they can be checked first. */

/** Same range as `engines` in package.json. */
export const supportedNode = '^20.19 || ^22.12 || >=24';

/** Returns why this Node is not supported, without a full stop; undefined if it is. */
export function whyUnsupported(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if ((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major >= 24) return undefined;
  return `nightrender needs Node.js 20.19 or later, 22.12 or later, or 24 and above; this is ${version}`;
}
