/** Promise: a refusal of a store is reported in words, and repeated only if a retry can help. */
import { describe, expect, it } from 'vitest';
import { failureOf, S3Error } from '../../../src/lib/s3/s3-requests.ts';

const answered = (status: number, code = '', method = 'PUT'): S3Error | undefined =>
  failureOf({ status, body: Buffer.from(code && `<Error><Code>${code}</Code></Error>`) }, method);

/** Returns the names of the error's properties that are true. */
function factsOf(error: S3Error | undefined): string[] {
  const names = ['isMissing', 'isPassing', 'isOverload', 'isGarbled', 'isRefusal'] as const;
  return names.filter((name) => error?.[name]);
}

describe('an answer of a store', () => {
  it.each<[number, string, string, string[], string]>([
    [403, '', 'HEAD', [], 'access is denied (403)'],
    [403, 'Odd', 'PUT', [], 'it refuses the request (403 Odd)'],
    [403, 'SignatureDoesNotMatch', 'PUT', [], 'the secret key (AWS_SECRET_ACCESS_KEY) is wrong (403 '],
    [403, 'RequestTimeTooSkewed', 'PUT', ['isPassing'], "this machine's clock is wrong (403 "],
    [404, 'NoSuchKey', 'GET', ['isMissing'], 'there is no such object (404 NoSuchKey)'],
    [404, '', 'HEAD', ['isMissing'], 'it refuses the request (404)'],
    [404, '', 'GET', ['isPassing'], 'it cannot answer now (404)'],
    [404, 'NoSuchBucket', 'GET', [], 'there is no such bucket (404 NoSuchBucket)'],
    [400, 'Odd', 'PUT', ['isRefusal'], 'it refuses the request (400 Odd)'],
    [
      400,
      'BadDigest',
      'PUT',
      ['isGarbled', 'isRefusal'],
      'the store received different bytes than were sent',
    ],
    [400, 'RequestTimeout', 'PUT', ['isPassing', 'isRefusal'], 'it cannot answer now (400 RequestTimeout)'],
    [408, '', 'PUT', ['isPassing'], 'it cannot answer now (408)'],
    [429, '', 'PUT', ['isPassing', 'isOverload'], 'it cannot answer now (429)'],
    [500, '', 'PUT', ['isPassing'], 'it cannot answer now (500)'],
    [501, 'NotImplemented', 'PUT', [], 'it refuses the request (501 NotImplemented)'],
    [503, '', 'PUT', ['isPassing', 'isOverload'], 'it cannot answer now (503)'],
    [200, 'SlowDown', 'POST', ['isPassing', 'isOverload'], 'it asks for fewer requests (200 SlowDown)'],
    [200, 'InternalError', 'POST', ['isPassing'], 'it cannot answer now (200 InternalError)'],
    [500, 'InternalError', 'POST', ['isPassing'], 'it cannot answer now (500 InternalError)'],
    [200, 'InvalidPart', 'POST', [], 'it refuses the request (200 InvalidPart)'],
    [301, 'PermanentRedirect', 'GET', [], 'the bucket is in another region; set AWS_REGION (301 '],
  ])('%i %s to a %s', (status, code, method, facts, text) => {
    const error = answered(status, code, method);
    expect([error?.code, factsOf(error), error?.message]).toEqual([
      code,
      facts,
      expect.stringContaining(text),
    ]);
  });

  it.each([
    [200, '', 'PUT'],
    [204, '', 'DELETE'],
    // The body is a picture, or a list of pictures.
    [200, 'InternalError', 'GET'],
  ])('is no failure: %i %s to a %s', (status, code, method) => {
    expect(answered(status, code, method)).toBeUndefined();
  });
});

describe('a failed connection to a store', () => {
  const thrown = (code: string | undefined, name = 'Error'): S3Error =>
    failureOf(Object.assign(new Error('x'), { name, ...(code !== undefined && { code }) }));

  it.each<[string | undefined, string, string[], string]>([
    ['ECONNREFUSED', 'Error', ['isPassing'], 'no connection (ECONNREFUSED)'],
    ['UND_ERR_CONNECT_TIMEOUT', 'Error', ['isPassing', 'isOverload'], '(UND_ERR_CONNECT_TIMEOUT)'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'Error', [], 'no connection (DEPTH_ZERO_SELF_SIGNED_CERT)'],
    [undefined, 'SocketError', ['isPassing'], 'no connection (SocketError)'],
    ['ABORT_ERR', 'AbortError', [], 'the request was given up because the run is ending'],
  ])('%s', (code, name, facts, text) => {
    const error = thrown(code, name);
    expect(error).toBeInstanceOf(S3Error);
    expect([factsOf(error), error.message]).toEqual([facts, expect.stringContaining(text)]);
  });

  it('is not reported for a bug of the program, and an S3Error stays as it is', () => {
    for (const bug of [new TypeError('a bug'), new RangeError('a bug')])
      expect(() => failureOf(bug)).toThrow(bug);
    const known = new S3Error('known');
    expect(failureOf(known)).toBe(known);
  });
});
