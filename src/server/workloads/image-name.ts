/** Names of container images, `<registry_user>/<image_name>:<tag>`. */

const host = '(?:[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)*(?::\\d{1,5})?/)?';
const part = '[a-z0-9]+(?:[._-]+[a-z0-9]+)*';
const version = '(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?';
const imagePattern = new RegExp(`^${host}${part}(?:/${part})+${version}$`);
const versionPattern = /(?::[^/:@]+|@sha256:[^/:@]+)$/;
const maxLength = 255;

/** What is wrong with the name of an image, in words; undefined for nothing. A registry's host may stand in front. */
export function imageProblem(image: string): string | undefined {
  if (image.length > maxLength) return `the name has ${image.length} characters, more than ${maxLength}`;
  if (!versionPattern.test(image)) return `${quoted(image)} has no tag; expected user/image:tag`;
  if (!imagePattern.test(image)) return `${quoted(image)} is no image; expected user/image:tag`;
  return undefined;
}

function quoted(text: string): string {
  return text === '' ? 'nothing' : JSON.stringify(text);
}
