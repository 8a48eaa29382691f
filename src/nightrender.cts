#!/usr/bin/env node
/** The entry point of the program: sets variables that must be set before the first module is loaded. */

/**
 * Each fsync occupies one of libuv's threads until the disk has finished. With the default of four, the
 * checkpoint waits for pictures, and name lookups wait for both. Node starts the threads to load ES modules, so
 * an ES module would set the number too late.
 */
if (process.env['UV_THREADPOOL_SIZE'] === undefined) process.env['UV_THREADPOOL_SIZE'] = '8';

void import('./cli.js');
