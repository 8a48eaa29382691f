/** Promise: image names are accepted in the form that the console describes, with or without a registry. */
import { expect, it } from 'vitest';
import { imageExpected } from '../../../src/service/workloads/container-tool.ts';

it.each([
  'user/image:tag',
  'user/image:1.0.2-cuda12.1',
  'ghcr.io/user/image_name:latest',
  'registry.example.com:5000/team/render.worker:v1',
  'registry.example.com/painter:1',
  'localhost:5000/user/image:1',
  'localhost:5000/image:1',
  'localhost/user/image:1',
  'user-name/image__x:V_1',
  `user/image@sha256:${'0'.repeat(64)}`,
  `user/image:1@sha256:${'0'.repeat(64)}`,
])('accepts %s', (image) => {
  expect(imageExpected(image)).toBeUndefined();
});

it.each([
  ['', 'an image such as'],
  ['user/image', 'a tag or digest as well'],
  ['registry.example.com:5000/user/image', 'a tag or digest as well'],
  ['image:1', 'user in front'],
  ['User/Image:1', 'in lower case'],
  ['user/image:', 'an image such as'],
  ['user/image:a b', 'an image such as'],
  ['user//image:1', 'an image such as'],
  ['https://host/user/image:1', 'an image such as'],
  ['--privileged/x:1', 'an image such as'],
  ['user/image:1\n--privileged', 'an image such as'],
  ['user/image:.1', 'an image such as'],
  ['../image:1', 'an image such as'],
  [`user/${'i'.repeat(300)}:1`, 'at most 255 characters'],
])('refuses %j with a message', (image, text) => {
  expect(imageExpected(image)).toContain(text);
});
