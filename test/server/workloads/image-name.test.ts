/** Promise: an image is taken in the form that the console asks for, with a registry where it has one. */
import { expect, it } from 'vitest';
import { imageProblem } from '../../../src/server/workloads/image-name.ts';

it.each([
  'user/image:tag',
  'user/image:1.0.2-cuda12.1',
  'ghcr.io/user/image_name:latest',
  'registry.example.com:5000/team/render.worker:v1',
  'localhost:5000/user/image:1',
  'localhost/user/image:1',
  'user-name/image__x:V_1',
  `user/image@sha256:${'0'.repeat(64)}`,
  `user/image:1@sha256:${'0'.repeat(64)}`,
])('takes %s', (image) => {
  expect(imageProblem(image)).toBeUndefined();
});

it.each([
  ['', 'nothing has no tag'],
  ['user/image', '"user/image" has no tag'],
  ['registry.example.com:5000/user/image', 'has no tag'],
  ['image:1', '"image:1" is no image'],
  ['User/Image:1', 'is no image'],
  ['user/image:', 'has no tag'],
  ['user/image:a b', 'is no image'],
  ['user//image:1', 'is no image'],
  ['https://host/user/image:1', 'is no image'],
  ['--privileged/x:1', 'is no image'],
  ['user/image:1\n--privileged', 'is no image'],
  ['user/image:.1', 'is no image'],
  ['../image:1', 'is no image'],
  [`user/${'i'.repeat(300)}:1`, 'more than 255'],
])('refuses %j in words', (image, text) => {
  expect(imageProblem(image)).toContain(text);
});
