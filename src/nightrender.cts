#!/usr/bin/env node
/** The program's way in: sets what has to be set before the first module is loaded. */

/**
 * Every fsync occupies one of libuv's threads for as long as the disk takes. With the usual four, the checkpoint waits
 * behind pictures, and looking up a name behind both. Node starts them to load modules, so that a module of the usual
 * kind comes too late to say how many there are.
 */
if (process.env['UV_THREADPOOL_SIZE'] === undefined) process.env['UV_THREADPOOL_SIZE'] = '8';

void import('./cli.js');
