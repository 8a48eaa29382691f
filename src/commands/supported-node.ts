/** Which versions of Node this program runs on; it loads nothing, so that it can be asked before all else. */

/** The same range stands under `engines` in package.json. */
export const supportedNode = '^20.19 || ^22.12 || >=24';

/** `version`: as `process.versions.node` has it. */
export function isSupportedNode(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major >= 24;
}
