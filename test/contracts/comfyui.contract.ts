/** Contract of ComfyUI: the behaviour that the client relies on. The stand-in and a real ComfyUI must both meet it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { dividing, emptyImage, enlarging, failing, saving, sleeping } from '../fakes/comfyui-workflows.ts';

/** Declares the tests. `open` resolves to the URL of a ComfyUI with its test nodes. */
export function comfyuiContract(name: string, open: () => Promise<string>): void {
  describe(name, () => contract(open));
}

function contract(open: () => Promise<string>): void {
  it('accepts a workflow under our id, and keeps its results', async () => {
    const url = await open();
    const id = randomUUID();
    expect(await submit(url, saving(emptyImage(0x336699), id), id)).toEqual({
      status: 200,
      json: { prompt_id: id, number: expect.any(Number) as number, node_errors: {} },
    });
    const entry = await ended(url, id);
    const image = { filename: `${id}_00001_.png`, subfolder: 'nightrender', type: 'output' };
    expect(entry).toMatchObject({
      prompt: [expect.any(Number), id, expect.any(Object), { client_id: 'nightrender' }, ['9']],
      outputs: { 9: { images: [image] } },
      status: {
        status_str: 'success',
        completed: true,
        messages: [said('execution_start', id), said('execution_cached', id), said('execution_success', id)],
      },
    });
    const view = await fetch(`${url}/view?${new URLSearchParams(image).toString()}`);
    const pixels = await sharp(Buffer.from(await view.arrayBuffer()))
      .removeAlpha()
      .raw()
      .toBuffer();
    expect([...pixels.subarray(0, 3)]).toEqual([0x33, 0x66, 0x99]);
    expect(await ask(url, `/view?filename=no-such.png&type=output`)).toMatchObject({ status: 404 });
  });

  it('answers an equal workflow from memory, with the same file', async () => {
    const url = await open();
    const [first, second] = [randomUUID(), randomUUID()];
    const workflow = saving(emptyImage(1), first);
    await submit(url, workflow, first);
    const before = await ended(url, first);
    await submit(url, workflow, second);
    const { outputs, status } = await ended(url, second);
    expect(outputs).toEqual(before.outputs);
    expect(status.messages[1]).toMatchObject(['execution_cached', { nodes: ['1', '9'] }]);
  });

  it.each([
    ['a node that it lacks', { 1: { class_type: 'Nope', inputs: {} } }, 'node Nope does not exist'],
    ['a node without a class', { 1: { inputs: {} } }, 'missing the class_type property'],
    ['no node that saves', emptyImage(1), 'Prompt has no outputs'],
  ])('refuses %s', async (_, workflow, words) => {
    const url = await open();
    expect(await submit(url, workflow, randomUUID())).toMatchObject({
      status: 400,
      json: { error: { message: expect.stringContaining(words) as string }, node_errors: {} },
    });
  });

  it('refuses wrong values by node', async () => {
    const url = await open();
    const workflow = saving({
      1: { class_type: 'EmptyImage', inputs: { width: 99_999, height: 'x', batch_size: 1 } },
    });
    const { status, json } = await submit(url, workflow, randomUUID());
    expect(status).toBe(400);
    expect(json).toMatchObject({
      error: { type: 'prompt_outputs_failed_validation', message: 'Prompt outputs failed validation' },
      node_errors: { 1: { class_type: 'EmptyImage', dependent_outputs: ['9'] } },
    });
    const errors = (json as { node_errors: Record<string, { errors: object[] }> }).node_errors['1']?.errors;
    expect(errors).toHaveLength(3);
    expect(errors).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          type: 'value_bigger_than_max',
          message: 'Value 99999 bigger than max of 16384',
          details: 'width',
        }),
        expect.objectContaining({
          type: 'invalid_input_type',
          message: 'Failed to convert an input value to a INT value',
          details: "height, x, invalid literal for int() with base 10: 'x'",
        }),
        expect.objectContaining({
          type: 'required_input_missing',
          message: 'Required input is missing',
          details: 'color',
        }),
      ]),
    );
  });

  it('refuses a model that it does not have', async () => {
    const url = await open();
    const workflow = {
      ...saving({ 1: { class_type: 'VAEDecode', inputs: { samples: ['5', 0], vae: ['4', 2] } } }),
      4: { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: 'no such model.safetensors' } },
      5: { class_type: 'EmptyLatentImage', inputs: { width: 64, height: 64, batch_size: 1 } },
    };
    const details = expect.stringMatching(/^ckpt_name: 'no such model.safetensors' not in \[.*\]$/) as string;
    expect(await submit(url, workflow, randomUUID())).toMatchObject({
      status: 400,
      json: {
        node_errors: {
          4: { errors: [{ type: 'value_not_in_list', message: 'Value not in list', details }] },
        },
      },
    });
  });

  it('runs the valid part of a workflow with an invalid part', async () => {
    const url = await open();
    const id = randomUUID();
    const workflow = {
      ...saving(emptyImage(2), id),
      2: { class_type: 'EmptyImage', inputs: { width: 0, height: 8, batch_size: 1, color: 1 } },
      10: { class_type: 'SaveImage', inputs: { images: ['2', 0], filename_prefix: 'x' } },
    };
    expect(await submit(url, workflow, id)).toMatchObject({
      status: 200,
      json: {
        prompt_id: id,
        node_errors: { 2: { errors: [{ type: 'value_smaller_than_min' }], dependent_outputs: ['10'] } },
      },
    });
    expect(Object.keys((await ended(url, id)).outputs)).toEqual(['9']);
  });

  it('reports the message of a node that fails', async () => {
    const url = await open();
    const id = randomUUID();
    await submit(url, failing(3, id), id);
    const { outputs, status } = await ended(url, id);
    expect(outputs).toEqual({});
    expect(status).toMatchObject({ status_str: 'error', completed: false });
    expect(status.messages.at(-1)).toEqual([
      'execution_error',
      expect.objectContaining({
        node_id: '5',
        node_type: 'TestSyncError',
        exception_type: 'RuntimeError',
        exception_message: 'Intentional sync execution error for testing\n',
      }),
    ]);
  });

  it('reports the message of a node that fails only with some values', async () => {
    const url = await open();
    const id = randomUUID();
    await submit(url, dividing(3, 0, id), id);
    const { status } = await ended(url, id);
    expect(status.messages.at(-1)).toMatchObject([
      'execution_error',
      {
        node_id: '2',
        node_type: 'TestIntMathOperation',
        exception_type: 'ZeroDivisionError',
        exception_message: 'integer division or modulo by zero\n',
      },
    ]);
    const other = randomUUID();
    await submit(url, dividing(3, 1, other), other);
    expect((await ended(url, other)).status.completed).toBe(true);
  });

  it('runs one at a time, removes waiting workflows from the queue, and stops running ones by their id alone', async () => {
    const url = await open();
    const [running, waiting, last] = [randomUUID(), randomUUID(), randomUUID()];
    await submit(url, sleeping(4, running, 60), running);
    await submit(url, sleeping(5, waiting, 60), waiting);
    await submit(url, saving(emptyImage(6), last), last);
    await expect.poll(() => queued(url)).toEqual({ running: [running], waiting: [waiting, last] });
    // None of these is in the history yet, so the history alone cannot distinguish them from an unknown id.
    for (const id of [running, waiting, 'no-such-id']) expect(await history(url, id)).toEqual({});
    expect(await ask(url, '/interrupt', { prompt_id: waiting })).toMatchObject({ status: 200 });
    expect(await ask(url, '/queue', { delete: [waiting, running, 'no-such-id'] })).toMatchObject({
      status: 200,
    });
    expect(await queued(url)).toEqual({ running: [running], waiting: [last] });
    // ComfyUI ignores an interrupt in the moment in which a workflow starts.
    const stopped = async (): Promise<Entry['status'] | undefined> => {
      expect(await ask(url, '/interrupt', { prompt_id: running })).toMatchObject({ status: 200 });
      return (await history(url, running))[running]?.status;
    };
    await expect.poll(stopped).toMatchObject({ status_str: 'error', completed: false });
    const { status } = await ended(url, running);
    expect(status.messages.at(-1)).toMatchObject([
      'execution_interrupted',
      { node_id: '5', node_type: 'TestSleep' },
    ]);
    await ended(url, last);
    expect(await history(url, waiting)).toEqual({});
  });

  it('completes a workflow whose node sleeps', async () => {
    const url = await open();
    const id = randomUUID();
    await submit(url, sleeping(7, id, 0.2), id);
    expect((await ended(url, id)).status.completed).toBe(true);
  });

  it('takes a picture into its input folder, and keeps one of the same name and content', async () => {
    const url = await open();
    const [id, name] = [randomUUID(), `${randomUUID()}.png`];
    const red = await onePixel(0xff0000);
    const upload = (content: Buffer, more: Record<string, string> = {}): ReturnType<typeof ask> =>
      uploadTo(url, { image: content, name, subfolder: 'nightrender', type: 'input', ...more });
    const kept = { status: 200, json: { name, subfolder: 'nightrender', type: 'input' } };
    expect(await upload(red)).toEqual(kept);
    expect(await upload(red)).toEqual(kept);
    expect(await upload(await onePixel(0xff))).toMatchObject({ json: { name: name.replace('.', ' (1).') } });
    expect(await submit(url, enlarging(id, `nightrender/${name}`), id)).toMatchObject({ status: 200 });
    const [image] = (await ended(url, id)).outputs['9']?.images ?? [];
    const view = await fetch(`${url}/view?${new URLSearchParams(image).toString()}`);
    const { data, info } = await sharp(Buffer.from(await view.arrayBuffer()))
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect([info.width, ...data.subarray(0, 3)]).toEqual([2, 0xff, 0, 0]);
  });

  it('refuses uploads that lead elsewhere or have no file, and a workflow without its file', async () => {
    const url = await open();
    const image = await onePixel(1);
    const given = { image, name: 'x.png', type: 'input' };
    expect(await uploadTo(url, { ...given, subfolder: '../..' })).toEqual({ status: 400, json: '' });
    expect(await uploadTo(url, { type: 'input' })).toMatchObject({ status: 400 });
    expect(await uploadTo(url, { ...given, type: 'elsewhere' })).toMatchObject({ status: 500 });
    const details = 'image - Invalid image file: nightrender/no-such.png';
    const answer = await submit(url, enlarging('x', 'nightrender/no-such.png'), randomUUID());
    expect(answer).toMatchObject({
      status: 400,
      json: { node_errors: { 10: { errors: [{ type: 'custom_validation_failed', details }] } } },
    });
  });

  it('accepts an upload that is no picture, whose job then fails', async () => {
    const url = await open();
    const [id, name] = [randomUUID(), `${randomUUID()}.png`];
    const image = Buffer.from('not a picture');
    expect(await uploadTo(url, { image, name, type: 'input' })).toMatchObject({ status: 200 });
    await submit(url, enlarging(id, name), id);
    const { status } = await ended(url, id);
    expect(status).toMatchObject({ completed: false });
    expect(status.messages.at(-1)).toMatchObject([
      'execution_error',
      { node_id: '10', node_type: 'LoadImage' },
    ]);
  });

  it('says what nodes it has, and their choices', async () => {
    const url = await open();
    const { json } = await ask(url, '/object_info');
    const color = ['INT', expect.objectContaining({ min: 0, max: 16777215 })];
    expect(json).toMatchObject({
      EmptyImage: { input: { required: { color } }, output_node: false },
      SaveImage: { output_node: true },
      CheckpointLoaderSimple: { input: { required: { ckpt_name: [expect.any(Array), expect.any(Object)] } } },
      LatentCut: { input: { required: { dim: ['COMBO', { options: ['x', 'y', 't'] }] } } },
      LoadImage: { input: { required: { image: [expect.any(Array), { image_upload: true }] } } },
    });
    expect(await ask(url, '/system_stats')).toMatchObject({
      status: 200,
      json: { system: { os: expect.any(String) as string } },
    });
  });
}

interface Entry {
  prompt: unknown[];
  outputs: Record<string, { images?: Record<string, string>[] }>;
  status: { status_str: string; completed: boolean; messages: [string, object][] };
}

async function ask(url: string, path: string, body?: object): Promise<{ status: number; json: unknown }> {
  const init = body && {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  };
  const response = await fetch(url + path, init);
  const text = await response.text();
  return { status: response.status, json: text.startsWith('{') ? (JSON.parse(text) as unknown) : text };
}

async function uploadTo(
  url: string,
  { image, name, ...fields }: { image?: Buffer; name?: string } & Record<string, unknown>,
): Promise<{ status: number; json: unknown }> {
  const form = new FormData();
  for (const [key, value] of Object.entries(fields)) form.append(key, String(value));
  if (image !== undefined) form.append('image', new Blob([new Uint8Array(image)]), name);
  const response = await fetch(`${url}/upload/image`, { method: 'POST', body: form });
  const text = await response.text();
  return { status: response.status, json: text.startsWith('{') ? (JSON.parse(text) as unknown) : text };
}

function onePixel(colour: number): Promise<Buffer> {
  const background = { r: colour >> 16, g: (colour >> 8) & 255, b: colour & 255 };
  return sharp({ create: { width: 1, height: 1, channels: 3, background } })
    .png()
    .toBuffer();
}

function submit(url: string, prompt: object, id: string): ReturnType<typeof ask> {
  return ask(url, '/prompt', { prompt, prompt_id: id, client_id: 'nightrender', extra_data: {} });
}

async function history(url: string, id: string): Promise<Record<string, Entry>> {
  return (await ask(url, `/history/${id}`)).json as Record<string, Entry>;
}

async function ended(url: string, id: string): Promise<Entry> {
  for (;;) {
    const entry = (await history(url, id))[id];
    if (entry !== undefined) return entry;
    await wait(10);
  }
}

async function queued(url: string): Promise<{ running: unknown[]; waiting: unknown[] }> {
  const { json } = await ask(url, '/queue');
  const { queue_running, queue_pending } = json as { queue_running: unknown[][]; queue_pending: unknown[][] };
  return { running: queue_running.map((item) => item[1]), waiting: queue_pending.map((item) => item[1]) };
}

function said(type: string, id: string): unknown {
  return [type, expect.objectContaining({ prompt_id: id, timestamp: expect.any(Number) as number })];
}
