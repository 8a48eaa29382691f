/** Promise: the error text of a service or worker is found at any usual place, and is safe to display. */
import { oneLine } from '../../src/lib/text/format.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyText, errorText } from '../../src/protocol/error-text.ts';
import { hostileJson } from './hostile-json.ts';

describe('an error', () => {
  it.each<[unknown, string | undefined]>([
    ['out of memory', 'out of memory'],
    ['job timed out after 1 retries', 'job timed out after 1 retries'],
    ['  two\n\n  lines\t', 'two lines'],
    ['line one\n\tline \u001B[31mtwo', 'line one line [31mtwo'],
    ['{"error_type":"E","error_message":"no scene","error_traceback":"…"}', 'E: no scene'],
    ['{"error_type":"<class \'KeyError\'>","error_message":"\'scene\'"}', "KeyError: 'scene'"],
    ['{"error":{"message":"nested"}}', 'nested'],
    ['{"unclosed', '{"unclosed'],
    ['"a text in JSON"', 'a text in JSON'],
    [['', null, 'first', 'second', 'first'], 'first; second'],
    [[{ message: 'one' }, 'two'], 'one; two'],
    [{ message: 'words', error: 'Bad Request.' }, 'Bad Request: words'],
    [{ message: 'out of memory on GPU 0', error: 'out of memory' }, 'out of memory on GPU 0'],
    [{ detail: [{ loc: ['body'], msg: 'field required' }] }, 'field required'],
    [{ error: { detail: { reason: 'deep' } } }, 'deep'],
    [{ error: 'invalid_token', error_description: 'expired' }, 'invalid_token: expired'],
    [{ type: 'about:blank', title: 'Too Large' }, 'Too Large'],
    [{ title: 'Too Large', detail: 'at most 10 MB' }, 'Too Large: at most 10 MB'],
    [{ message: 'not in list', details: 'ckpt_name' }, 'not in list: ckpt_name'],
    [{ error_type: 'TimeoutError' }, 'TimeoutError'],
    [{ error: true, detail: 'no GPU' }, 'no GPU'],
    [{ error: 500 }, '500'],
    [{ message: 'deep', code: 7 }, 'deep (code 7)'],
    ['{"message":"deep","status_code":12345678901234567890}', 'deep (code 12345678901234567890)'],
    [17, '17'],
    [false, 'false'],
    ['', undefined],
    ['\u0000\u001b\u200b', undefined],
    [null, undefined],
    [[], undefined],
    [{}, undefined],
    [{ code: 3 }, undefined],
    [{ unrelated: 1 }, undefined],
    [{ message: { toString: 1, valueOf: null } }, undefined],
  ])('%j', (error, text) => expect(errorText(error)).toBe(text));

  const frames =
    'Traceback (most recent call last):\n  File "/a.py", line 1\n    f()\n  File "/b.py", line 9\n';
  it.each<[string, unknown, string]>([
    ['alone', `${frames}ValueError: bad size\n`, 'ValueError: bad size'],
    ['under its key', { traceback: `${frames}ValueError: bad size` }, 'ValueError: bad size'],
    [
      'of an exception of several lines',
      `${frames}RuntimeError: CUDA error\n  at 0x0\nCompile with DSA`,
      'RuntimeError: CUDA error at 0x0 Compile with DSA',
    ],
    ['without frames', { error_traceback: 'Traceback (most recent call last):\nKeyError: 1' }, 'KeyError: 1'],
    ['cut within its frames', frames, 'File "/b.py", line 9'],
    ['beside words', { error: 'bad size', traceback: frames }, 'bad size'],
  ])('in a traceback is its exception: %s', (_how, error, text) => {
    expect(errorText(error)).toBe(text);
  });

  it('is found at most 6 levels deep, and without a crash beyond', () => {
    const nested = (levels: number): string => '['.repeat(levels) + '"deep"' + ']'.repeat(levels);
    expect(errorText(nested(5))).toBe('deep');
    expect(errorText(nested(100_000))).toMatch(/^\[{499}…$/);
  });

  it('is printable, on one line and of bounded length, whatever it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), hostileJson), (value) => {
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
    expect(oneLine('words and words', 7)).toBe('words…');
    expect(oneLine(`a${'🌙'.repeat(1_000)}`)).toMatch(/^a(?:🌙){498}…$/u);
  });

  it('is found behind any white space, and not cut because of the text after it', () => {
    expect(oneLine(`${' '.repeat(3_000)}words${'\n'.repeat(3_000)}`)).toBe('words');
  });
});
