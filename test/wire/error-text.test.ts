/** Words are found wherever services and workers put them, and are fit to be shown. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyText, errorText, oneLine } from '../../src/wire/error-text.ts';

describe('an error', () => {
  it.each<[unknown, string | undefined]>([
    ['out of memory', 'out of memory'],
    ['  two\n\n  lines\t', 'two lines'],
    ['{"error_type":"E","error_message":"no scene","error_traceback":"…"}', 'no scene'],
    ['{"error":{"message":"nested"}}', 'nested'],
    ['{"unclosed', '{"unclosed'],
    ['"a text in JSON"', 'a text in JSON'],
    [['', null, 'first', 'second'], 'first'],
    [{ message: 'words', error: 'Bad Request' }, 'words'],
    [{ detail: [{ loc: ['body'], msg: 'field required' }] }, 'field required'],
    [{ error: 'invalid_token', error_description: 'expired' }, 'invalid_token'],
    [{ type: 'about:blank', title: 'Too Large' }, 'Too Large'],
    [17, '17'],
    [false, 'false'],
    ['', undefined],
    ['\u0000\u001b\u200b', undefined],
    [null, undefined],
    [[], undefined],
    [{}, undefined],
    [{ code: 3 }, undefined],
  ])('%j', (error, text) => expect(errorText(error)).toBe(text));

  it('is printable, on one line and of bounded length, whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const text of [
          errorText(value),
          errorText(JSON.stringify(value)),
          bodyText(JSON.stringify(value)),
        ]) {
          if (text !== undefined) expect(text).toMatch(/^[^\p{C}\n]{1,520}$/u);
        }
      }),
    );
  });
});

describe('a body', () => {
  it.each<[string, string | undefined]>([
    ['', undefined],
    [' \r\n', undefined],
    ['exceeded max body size\n', 'exceeded max body size'],
    ['{"detail": "endpoint not found"}', 'endpoint not found'],
    ['{}', '{}'],
    ['{"jobs": 3}', '{"jobs": 3}'],
    ['<html><head><title>502 Bad\nGateway</title></head></html>', 'an HTML page, "502 Bad Gateway"'],
    ['<!DOCTYPE html><TITLE lang="en"> Down </TITLE>', 'an HTML page, "Down"'],
    ['<!doctype html><title></title>', 'an HTML page'],
    ['<html><title>cut', 'an HTML page, "cut"'],
    ['<html><body>words</body></html>', 'an HTML page'],
    ['<?xml version="1.0"?>\n<Code>Slow</Code>', '<?xml version="1.0"?> <Code>Slow</Code>'],
  ])('%j', (body, text) => expect(bodyText(body)).toBe(text));
});

describe('one line', () => {
  it('is cut between characters', () => {
    expect(oneLine('🌙'.repeat(10), 4)).toBe('🌙🌙🌙…');
    expect(oneLine('🌙'.repeat(4), 4)).toBe('🌙🌙🌙🌙');
    expect(oneLine(`a${'🌙'.repeat(1_000)}`)).toMatch(/^a(?:🌙){498}…$/u);
  });
});
