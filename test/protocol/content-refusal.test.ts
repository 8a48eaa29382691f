/**
 * Promise: a refusal because of the content is recognized by the words of the worker. In doubt, a failure is
 * not one.
 */
import { expect, it } from 'vitest';
import { isContentRefusal } from '../../src/protocol/error-text.ts';

it.each([
  'NSFW content detected',
  'Request Moderated',
  'The content was flagged by a content checker.',
  'blocked: content policy',
  'content_policy_violation',
  'has_nsfw_concepts: true',
  'Potential NSFW content was detected in one or more images. Try again with a different prompt and/or seed.',
  'Your request was rejected as a result of our safety system.',
  'Error: the prompt contains prohibited words',
  "Unable to show the generated images, which violated Vertex AI's usage guidelines",
])('%s', (words) => {
  expect(isContentRefusal(words)).toBe(true);
});

it.each([
  'Worker is busy, try again later',
  'prompt is required',
  'LoRA address has lapsed',
  'failed to load safety_checker',
  'moderation service unavailable',
  'NSFW check timed out',
  'content filter has crashed',
  'cannot download nsfw-v3.safetensors',
  'no NSFW content found, but CUDA is out of memory',
  'CUDA out of memory',
])('is not a refusal of the content: %s', (words) => {
  expect(isContentRefusal(words)).toBe(false);
});
