/**
 * If the folder of a database disappears, for example because its disk was unmounted, the error blames the
 * disk and not the program.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSqlite } from '../../../src/lib/sqlite/database.ts';
import { asDiskFailure } from '../../../src/runner/files/disk-failure.ts';

it.each([{}, { readonly: true, fileMustExist: true }])(
  'blames the disk if the folder is gone, and reports no bug (%o)',
  (options) => {
    const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
    rmSync(dir, { recursive: true });
    let thrown: unknown;
    try {
      openSqlite(join(dir, 'checkpoint.sqlite'), options);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'ENOENT', path: dir });
    expect(asDiskFailure(thrown, 'the checkpoint')).toMatchObject({
      failure: { kind: 'output-unwritable' },
    });
  },
);
