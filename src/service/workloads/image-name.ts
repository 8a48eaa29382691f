/** Names of container images: `<registry_user>/<image_name>:<tag>`. */
import { z } from 'zod';

const component = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const host = String.raw`(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*:\d+)`;
const tag = ':[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}';
const digest = '@sha256:[0-9a-f]{64}';

/** An image name may start with a registry, and have a digest after its tag or instead of it. */
const imagePattern = `^(?:${host}/${component}|${component}/${component})(?:/${component})*(?:${tag}(?:${digest})?|${digest})$`;

const imageName = new RegExp(imagePattern);

const maxLength = 255;

export const image = z
  .string('an image such as user/name:1.0')
  .superRefine((name, context) => {
    const message = imageExpected(name);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  })
  .meta({ pattern: imagePattern });

/** Returns the form that is expected instead of `text`; undefined if the image name is valid. */
export function imageExpected(text: string): string | undefined {
  if (text.length > maxLength) return `an image of at most ${maxLength} characters`;
  if (imageName.test(text)) return undefined;
  if (imageName.test(`${text}:1`)) return `a tag or digest as well, such as ${text}:1.0`;
  if (imageName.test(`user/${text}`)) return `the registry's user in front, such as library/${text}`;
  if (imageName.test(`user/${text}:1`))
    return `the registry's user and a tag as well, such as library/${text}:1.0`;
  if (imageName.test(text.toLowerCase())) return 'an image in lower case, such as user/name:1.0';
  return 'an image such as user/name:1.0 or registry.example.com:5000/user/name:1.0';
}
