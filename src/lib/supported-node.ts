/** Which versions of Node this program runs on; it loads nothing, so that it can be asked before all else. */

/** The same range stands under `engines` in package.json. */
export const supportedNode = '^20.19 || ^22.12 || >=24';

/** What is wrong with this Node, without its full stop; undefined where nothing is. `version`: as `process.versions.node` has it. */
export function whyUnsupported(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if ((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major >= 24) return undefined;
  return `nightrender needs Node.js 20.19 or later, 22.12 or later, or 24 and above; this is ${version}`;
}
