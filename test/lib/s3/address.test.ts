/**
 * Promise: a bucket is found by the URL and variables that other S3 programs use, and a wrong one is named.
 */
import { describe, expect, it } from 'vitest';
import { AddressProblem, bucketAddress, bucketUrl } from '../../../src/lib/s3/bucket-address.ts';

it.each([
  ['s3://bucket', 's3://bucket/'],
  ['s3://my.bucket-1/a b//c/', 's3://my.bucket-1/a b/c/'],
  ['s3://bucket/../x', undefined],
  ['s3://bucket/./x', undefined],
  ['https://bucket/x', undefined],
  ['s3://Bucket/x', undefined],
  ['s3://', undefined],
])('%s is %s', (text, url) => {
  expect(bucketUrl(text)).toBe(url);
});

const keys = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };

describe('the place of a bucket', () => {
  it.each([
    [{}, 's3://bucket/n/', 'https://bucket.s3.us-east-1.amazonaws.com'],
    [{ AWS_REGION: 'eu-central-1' }, 's3://my.bucket/n/', 'https://s3.eu-central-1.amazonaws.com/my.bucket'],
    [{ AWS_DEFAULT_REGION: 'cn-north-1' }, 's3://bucket/', 'https://bucket.s3.cn-north-1.amazonaws.com.cn'],
    [{ AWS_ENDPOINT_URL: 'https://ceph.example:8080/' }, 's3://bucket/', 'https://ceph.example:8080/bucket'],
    [
      { AWS_ENDPOINT_URL: 'https://other.example', AWS_ENDPOINT_URL_S3: 'http://own.example//' },
      's3://bucket/',
      'http://own.example/bucket',
    ],
  ])('%j', (env, url, address) => {
    expect(bucketAddress(url, { ...keys, ...env }).url).toBe(address);
  });

  it('takes all that it needs from the variables', () => {
    const env = { AWS_REGION: 'r-1', AWS_DEFAULT_REGION: 'r-2', AWS_SESSION_TOKEN: ' token\n' };
    expect(bucketAddress('s3://bucket/night/two/', { ...keys, ...env })).toEqual({
      bucket: 'bucket',
      prefix: 'night/two/',
      url: 'https://bucket.s3.r-1.amazonaws.com',
      region: 'r-1',
      accessKeyId: 'a',
      secretAccessKey: 'b',
      sessionToken: 'token',
    });
    expect(bucketAddress('s3://bucket/', keys)).toMatchObject({ prefix: '', region: 'us-east-1' });
    expect(bucketAddress('s3://bucket/', keys).sessionToken).toBeUndefined();
  });
});

it.each([
  [{ AWS_ACCESS_KEY_ID: 'a' }, 'AWS_SECRET_ACCESS_KEY is not set'],
  [{ ...keys, AWS_ACCESS_KEY_ID: ' ' }, 'AWS_ACCESS_KEY_ID is not set'],
  [{ ...keys, AWS_SECRET_ACCESS_KEY: 'a b' }, 'AWS_SECRET_ACCESS_KEY contains a space'],
  ...['ceph.example', 'ftp://ceph.example', 'https://me@ceph.example', 'https://ceph.example/?a=b'].map(
    (url): [object, string] => [
      { ...keys, AWS_ENDPOINT_URL_S3: url },
      'is not an address such as https://s3.example.com',
    ],
  ),
])('names the variable that is missing or wrong: %j', (env, text) => {
  const read = (): unknown => bucketAddress('s3://bucket/', env as NodeJS.ProcessEnv);
  expect(read).toThrow(AddressProblem);
  expect(read).toThrow(text);
});
