/**
 * Promise: service.yaml sets what the service does. All problems are reported at once, each at its line and
 * column.
 */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readService } from '../../../src/service/config/read-service.ts';
import { marked, placesOf } from '../../runner/config/pipeline-file.ts';
import {
  endpointProblemsOf,
  serviceOf,
  serviceProblems,
  writeService,
} from '../../runner/config/service-file.ts';

const asByDefault = {
  workers: { min: 0, max: 1, idle: 60_000 },
  quickStart: false,
  recycle: {},
  environment: {},
  retries: 2,
  executionTimeout: 600_000,
  ttl: 86_400_000,
  maxQueued: 10_000,
};

describe('a good file', () => {
  it('has all settings in the units of the program, with defaults for omitted ones', () => {
    const text = `host: 0.0.0.0
port: 0
retention: 1h
limits: {maxBody: 20MB, requestsPerSecond: 50, maxQueued: 7}
endpoints:
  - name: Night renderer
    quickDeploy: scene-renderer
    gpu: 24 GB
    workers: 2
    quickStart: true
    environment:
      TOKEN: \${HF_TOKEN}
      VERSION: 1.10
      MASK: 0x1F
      ON: true
    retries: 0
    executionTimeout: 30s
    ttl: 90m
    maxQueued: 3
  - {id: Mine_2, name: Container, image: "host.example:5000/user/name:1.0", arguments: [--shm-size=1g], memory: 8GB, cpus: 1.5, gpu: {devices: [0, GPU-5f]}}
  - {name: Elsewhere, remote: true}
`;
    const { settings } = serviceOf(text, { env: { HF_TOKEN: 'hf' } });
    expect(settings).toEqual({
      host: '0.0.0.0',
      port: 0,
      publicUrl: undefined,
      tls: undefined,
      isInsecure: false,
      proxies: [],
      retentionMs: 3_600_000,
      limits: {
        maxBodyBytes: 20e6,
        maxResultBytes: 100e6,
        maxValues: 10_000_000,
        requestsPerSecond: 50,
        maxConnections: 1_000,
        requestTimeoutMs: 60_000,
        bodyTimeMs: 3_600_000,
        maxQueued: 7,
        silenceMs: 60_000,
      },
      graceMs: 30_000,
      hasConsolePrograms: true,
      hasPrivateWebhooks: null,
      origins: [],
      hosts: [],
      endpoints: [
        {
          ...asByDefault,
          id: 'night-renderer',
          name: 'Night renderer',
          quickDeploy: 'scene-renderer',
          gpu: '24 GB',
          workers: { min: 0, max: 2, idle: 60_000 },
          quickStart: true,
          environment: { TOKEN: 'hf', VERSION: '1.10', MASK: '0x1F', ON: 'true' },
          retries: 0,
          executionTimeout: 30_000,
          ttl: 5_400_000,
          maxQueued: 3,
        },
        {
          ...asByDefault,
          id: 'Mine_2',
          name: 'Container',
          image: 'host.example:5000/user/name:1.0',
          arguments: ['--shm-size=1g'],
          gpu: { devices: ['0', 'GPU-5f'] },
          memory: 8e9,
          cpus: 1.5,
          maxQueued: 7,
        },
        {
          ...asByDefault,
          id: 'elsewhere',
          name: 'Elsewhere',
          remote: true,
          workers: { min: 0, max: 0, idle: 60_000 },
          maxQueued: 7,
        },
      ],
    });
  });

  it('says how containers are kept apart, and nothing if the file says nothing', () => {
    const image = 'image: "u/x:1"';
    const { settings } = serviceOf(`publicUrl: https://render.example
endpoints:
  - {name: A, ${image}}
  - {name: B, ${image}, network: default, capabilities: [CHOWN]}
  - {name: C, ${image}, network: farm, serviceUrl: 'http://172.17.0.1:1/', capabilities: []}
`);
    expect(
      settings.endpoints.map((each) => [each['network'], each['serviceUrl'], each['capabilities']]),
    ).toEqual([
      [undefined, undefined, undefined],
      ['default', undefined, ['CHOWN']],
      ['farm', 'http://172.17.0.1:1', []],
    ]);
    expect(endpointProblemsOf(`${image}, network: default`)).toEqual([
      'serviceUrl is missing; expected the address at which the containers reach this service, such as http://172.17.0.1:4747, or `network: host`',
    ]);
  });

  it('takes paths from the folder of the file', () => {
    const { settings, folder } = serviceOf(`endpoints:
  - {name: In PATH, command: [worker, job.py]}
  - {name: By path, command: [bin/worker], cwd: bin}
  - {name: Module, module: ./handler.mjs}
`);
    expect(settings.endpoints).toMatchObject([
      { command: ['worker', 'job.py'], cwd: folder },
      { command: [join(folder, 'bin/worker')], cwd: join(folder, 'bin') },
      { module: join(folder, 'handler.mjs') },
    ]);
  });

  it('looks for a program where the PATH of its own environment says', () => {
    const { folder } = writeService('');
    const { settings } = serviceOf(
      `endpoints: [{name: A, command: [worker], environment: {PATH: ${join(folder, 'bin')}}}]`,
      { env: { PATH: '/nowhere' } },
    );
    expect(settings.endpoints).toHaveLength(1);
  });

  it('may be missing or empty', () => {
    const bare = readService(undefined, [{ path: ['port'], value: 0, from: '--port' }], {});
    expect(bare).toMatchObject({ host: '127.0.0.1', port: 0, retentionMs: 1_800_000, endpoints: [] });
    expect(serviceOf('').settings).toEqual({ ...bare, port: 4747 });
  });

  it('gives a job that may not live for 10 minutes no longer in a worker than it lives', () => {
    const { settings } = serviceOf('endpoints: [{name: A, quickDeploy: painter, ttl: 2m}]');
    expect(settings.endpoints[0]).toMatchObject({ executionTimeout: 120_000, ttl: 120_000 });
  });

  it('takes a number from the environment', () => {
    const text = 'endpoints:\n  - name: A\n    quickDeploy: painter\n    workers: ${N}\n';
    expect(serviceOf(text, { env: { N: '3' } }).settings.endpoints[0]).toMatchObject({ workers: { max: 3 } });
  });

  it.each([
    ['Ölgemälde & Töne', 'olgemalde-tone'],
    ['  24 GB / fast  ', '24-gb-fast'],
    ['snake_case', 'snake_case'],
  ])('makes the id of %j', (name, id) => {
    const { settings } = serviceOf(`endpoints: [{name: "${name}", quickDeploy: painter}]`);
    expect(settings.endpoints[0]).toMatchObject({ id, name: name.trim() });
  });
});

it('reports every problem at once, in the order of the file', () => {
  const { text, places } = marked(`host: ▸"-x"
port: ▸70000
▸retension: 1h
limits: {maxBody: ▸10, ▸body: 1MB}
▸workers: 3
endpoints:
  - name: A
    quickDeploy: ▸panter
    workers: ▸many
  - ▸name: B
    executionTimeout: ▸2d
    ▸worker: 2
  - ▸{name: C, image: u/x:1, remote: true}
  - name: ▸a
    module: ▸./gone.mjs
    ▸gpu: {▸device: 0}
    cpus: ▸2
    environment:
      ▸RUNPOD_POD_ID: x
      ▸2ND: x
      LIST: ▸[secret-text]
  - ▸5
`);
  const problems = serviceProblems(text);
  expect(placesOf(problems)).toEqual(places);
  expect(problems).toEqual([
    expect.stringMatching(/host is "-x"; expected an address such as /),
    expect.stringContaining('port is 70000; expected a port, a whole number from 0 to 65535'),
    expect.stringContaining('the key "retension" is unknown; did you mean retention?'),
    expect.stringContaining('limits.maxBody is 10; expected a size from 1kB to 1GB, such as 500kB, 64MB'),
    expect.stringContaining('the key "body" is unknown in limits; expected maxBody, maxResult, '),
    expect.stringContaining(
      'the key "workers" is unknown; expected host, port, publicUrl, tls, insecure, proxies, hosts, retention, limits, shutdown, console, webhooks, cors, store, files, peerUrl, endpoints (workers belongs under endpoints)',
    ),
    expect.stringContaining(
      'endpoints[0].quickDeploy is "panter"; expected painter, scene-renderer or blender',
    ),
    expect.stringContaining('endpoints[0].workers is "many"; expected workers that are started here, '),
    expect.stringContaining('endpoints[1] is keys and values; expected exactly one of quickDeploy, '),
    expect.stringContaining('endpoints[1].executionTimeout is "2d"; expected at most the ttl of 24h, '),
    expect.stringContaining('the key "worker" is unknown in endpoints[1]; did you mean workers?'),
    expect.stringContaining('endpoints[2] is keys and values; expected exactly one of quickDeploy, '),
    expect.stringContaining('endpoints[3].name is "a"; expected a name that is not taken'),
    expect.stringContaining('endpoints[3].module is "./gone.mjs"; expected an existing file: '),
    expect.stringContaining('endpoints[3].gpu.devices is missing; expected devices of this machine'),
    expect.stringContaining('the key "device" is unknown in endpoints[3].gpu; did you mean devices?'),
    expect.stringContaining('endpoints[3].cpus is 2; expected no processor limit: '),
    expect.stringContaining('the key "RUNPOD_POD_ID" cannot be set in endpoints[3].environment; expected '),
    expect.stringContaining('this key cannot be set in endpoints[3].environment; expected a name of '),
    expect.stringContaining('endpoints[3].environment.LIST is a list; expected a text'),
    expect.stringContaining('endpoints[4] is 5; expected the key name, and optionally id, quickDeploy, '),
  ]);
});

it('names the file that was meant if another is given', () => {
  const { folder } = writeService('');
  expect(() => readService(folder, [], {})).toThrow('this is a folder; expected a service.yaml');
});

describe('the program of an endpoint', () => {
  it.each([
    [
      'workers: 1',
      'is keys and values; expected exactly one of quickDeploy, image, command, module, comfyui, remote',
    ],
    [
      'quickDeploy: painter, remote: true',
      'is keys and values; expected exactly one of quickDeploy, image, command, module, comfyui, remote',
    ],
    ['remote: false', 'remote is false; expected true'],
    ['image: user/name', 'image is "user/name"; expected a tag or digest as well, such as user/name:1.0'],
    [
      'image: "python:3.12"',
      'image is "python:3.12"; expected the registry\'s user in front, such as library/python:3.12',
    ],
    ['command: worker --fast', 'command is "worker --fast"; expected a list such as [python3, worker.py]'],
    ['command: []', 'command is an empty list; expected a list such as [python3, worker.py]'],
    [
      'command: [gone, x]',
      'command[0] is "gone"; expected an existing program: gone is in no folder of PATH',
    ],
    ['command: [./gone]', 'command[0] is "./gone"; expected an existing program: FOLDER/gone is not one'],
    [
      'command: [./plain.txt]',
      'command[0] is "./plain.txt"; expected an executable program: run chmod +x FOLDER/plain.txt',
    ],
    ['command: [./bin]', 'command[0] is "./bin"; expected an existing program: FOLDER/bin is not one'],
    [
      'command: [worker], cwd: plain.txt',
      'cwd is "plain.txt"; expected an existing folder: FOLDER/plain.txt is not one',
    ],
    ['module: ./gone.mjs', 'module is "./gone.mjs"; expected an existing file: FOLDER/gone.mjs is not one'],
    [
      'module: plain.txt',
      'module is "plain.txt"; expected the path of a JavaScript module, such as ./handler.mjs',
    ],
    [
      'comfyui: {url: [http://a, http://a], workflow: flow.json}',
      'comfyui.url is a list; expected an address such as http://box:8188, or several in a list, each once',
    ],
    [
      'comfyui: {url: http://a, workflow: gone.json}',
      'comfyui.workflow is "gone.json"; expected a workflow in API format: FOLDER/gone.json is not a file that can be read',
    ],
    [
      'comfyui: {url: http://a, workflow: editor.json}',
      'comfyui.workflow is "editor.json"; expected a workflow in API format: FOLDER/editor.json is in the format of ComfyUI\'s editor, which it does not run; export it in ComfyUI with Workflow > Export (API)',
    ],
    [
      'comfyui: {url: http://a, workflow: flow.json, set: {7.text: x, 3.sead: "{{ seed }}"}}',
      'comfyui.set is keys and values; expected inputs of its nodes: 7.text: the workflow has no node "7"; it has 3 (KSampler), 6 (CLIPTextEncode). 3.sead: node 3 (KSampler) has no input "sead"; did you mean seed?',
    ],
    [
      'comfyui: {url: http://a, workflow: flow.json, set: {3.seed: "{{ picture | upload }}"}}',
      'comfyui.set.3.seed is "{{ picture | upload }}"; expected a value, or a text with placeholders such as {{ prompt }}, without filters (`upload` works in pipeline.yaml only)',
    ],
    [
      'comfyui: {url: box:8188, workflow: flow.json}',
      'comfyui.url is "box:8188"; expected an address such as http://box:8188, or several in a list, each once',
    ],
    ['comfyui: http://a', 'comfyui is "http://a"; expected the keys url, workflow, and optionally set'],
    [
      'module: ./handler.mjs, arguments: [--init]',
      'arguments is a list; expected none: only an image takes options of `docker run`',
    ],
    ['module: ./handler.mjs, cwd: bin', 'cwd is "bin"; expected none: only a command has a working folder'],
  ])('{%s}', (keys, problem) => {
    expect(endpointProblemsOf(keys)).toEqual([problem]);
  });
});

describe('the script that an interpreter runs', () => {
  const node = process.execPath;
  it.each([
    [`${node}, gone.cjs`, 'command[1] is "gone.cjs"; expected an existing file: FOLDER/gone.cjs is not one'],
    [
      `${node}, --no-warnings, gone.mjs, --fast`,
      'command[2] is "gone.mjs"; expected an existing file: FOLDER/gone.mjs is not one',
    ],
    [
      '/bin/sh, handler.sh], cwd: [bin',
      'command[1] is "handler.sh"; expected an existing file: FOLDER/bin/handler.sh is not one',
    ],
    [`${node}, handler.mjs`, undefined],
    [`${node}, ../handler.mjs], cwd: [bin`, undefined],
    // These arguments name no file, or a file that only the program itself can interpret.
    [`${node}, -e, gone.js`, undefined],
    ['/bin/sh, -ec, exec python3 gone.py', undefined],
    ['worker, gone.py', undefined],
    [`${node}, gone`, undefined],
  ])('[%s]', (command, problem) => {
    const keys = `command: [${command}]`.replace('cwd: [bin]', 'cwd: bin');
    expect(endpointProblemsOf(keys)).toEqual(problem === undefined ? [] : [problem]);
  });
});

describe('a key that would have no effect', () => {
  it.each([
    [
      'quickDeploy: painter, memory: 8GB',
      'memory is "8GB"; expected no memory limit: only an image, a command or a module can have one',
    ],
    ['quickDeploy: painter, cpus: 2', 'cpus is 2; expected no processor limit: only an image can have one'],
    ['remote: true, workers: 2', 'workers is 2; expected 0, since its workers run elsewhere'],
    [
      'comfyui: {url: http://a, workflow: flow.json}, workers: 2',
      'workers is 2; expected none, since each ComfyUI is one worker',
    ],
    [
      'comfyui: {url: http://a, workflow: flow.json}, recycle: {jobs: 1}',
      'recycle is keys and values; expected none, since each ComfyUI is one worker',
    ],
    ['remote: true, quickStart: true', 'quickStart is true; expected false, since its workers run elsewhere'],
    [
      'remote: true, environment: {A: x}',
      'environment is keys and values; expected no variables, since its workers run elsewhere',
    ],
    [
      'module: ./handler.mjs, gpu: {devices: [0, /dev/dri/renderD128]}',
      'gpu.devices is a list; expected numbers or names such as GPU-5f3c: a command or module gets them in CUDA_VISIBLE_DEVICES, which takes no paths; an image can use paths',
    ],
    [
      'command: [worker], gpu: {devices: [amd.com/gpu=0]}',
      'gpu.devices is a list; expected numbers or names such as GPU-5f3c: a command or module gets them in CUDA_VISIBLE_DEVICES, which takes no paths; an image can use paths',
    ],
    [
      'quickDeploy: scene-renderer, gpu: {devices: [0]}',
      'gpu.devices is a list; expected no devices, since scene-renderer needs no GPU; use a label such as 24 GB',
    ],
    [
      'quickDeploy: painter, executionTimeout: 30h',
      'executionTimeout is "30h"; expected at most the ttl of 24h, after which a job ends anyway',
    ],
  ])('{%s} is refused', (keys, problem) => {
    expect(endpointProblemsOf(keys)).toEqual([problem]);
  });
});

describe('one field', () => {
  it.each([
    ['id: a b', 'id is "a b"; expected an id of 1 to 128 letters, digits, - and _'],
    ['gpu: 24', 'gpu is 24; expected a label such as 24 GB, or devices such as {devices: [0, 1]}'],
    [
      'gpu: {devices: [0, "0"]}',
      'gpu.devices is a list; expected devices of this machine, such as [0, 1], each once',
    ],
    [
      'gpu: {devices: [-1]}',
      'gpu.devices[0] is -1; expected a device of this machine: a number from 0, or a name such as GPU-5f3c or /dev/dri/renderD128',
    ],
    [
      'devices: [0]',
      'the key "devices" is unknown in endpoints[0]; expected name, id, quickDeploy, blender, image, arguments, network, serviceUrl, capabilities, command, cwd, module, comfyui, remote, workers, on, quickStart, gpu, memory, cpus, executionTimeout, ttl, retries, maxQueued, recycle, stall, environment (devices belongs under gpu)',
    ],
    [
      'workers: 1.5',
      'workers is 1.5; expected workers that are started here, a whole number from 0 to 1000, or such as {min: 0, max: 8, idle: 5m}',
    ],
    ['workers: {min: 3, max: 2}', 'workers.min is 3; expected at most `max`'],
    [
      'workers: {max: 0}',
      'workers.max is 0; expected workers that are started here, a whole number from 1 to 1000',
    ],
    [
      'recycle: {jobs: 0}',
      'recycle.jobs is 0; expected jobs of one worker, a whole number from 1 to 1000000',
    ],
    ['stall: 1', 'stall is 1; expected a duration from 1s to 20d, such as 30s, 5m or 2h'],
    ['retries: -1', 'retries is -1; expected times that a job is tried again, a whole number from 0 to 100'],
    ['ttl: 30', 'ttl is 30; expected a duration from 1s to 20d, such as 30s, 5m or 2h'],
    [
      'environment: {NIGHTRENDER_API_KEY: x}',
      'the key "NIGHTRENDER_API_KEY" cannot be set in endpoints[0].environment; expected another name: workers never get the key of the service',
    ],
    [
      'environment: {RUNPOD_WEBHOOK_PING: x}',
      'the key "RUNPOD_WEBHOOK_PING" cannot be set in endpoints[0].environment; expected another name: the service sets this one itself',
    ],
    [
      'environment: {A-B: x}',
      'the key "A-B" cannot be set in endpoints[0].environment; expected a name of letters, digits and _ that does not begin with a digit',
    ],
    [
      'environment: {__proto__: x}',
      'the key "__proto__" cannot be set in endpoints[0].environment; expected a name of letters, digits and _ that does not begin with a digit',
    ],
    ['environment: {A: }', 'environment.A is empty; expected a text'],
    ['environment: {A: "${GONE}"}', 'the environment variable GONE is not set'],
    ['environment: A=secret', 'environment is not valid; expected names with texts, such as {MODEL: x}'],
  ])('{%s}', (keys, problem) => {
    expect(endpointProblemsOf(`module: ./handler.mjs, ${keys}`)).toEqual([problem]);
  });

  it.each([
    [
      'image: u/x:1, memory: 8',
      'memory is 8; expected a size from 16MB to 16000GB, such as 500kB, 64MB or 128MiB',
    ],
    ['image: u/x:1, cpus: 0', 'cpus is 0; expected processors, a number from 0.01 to 1024'],
  ])('{%s}', (keys, problem) => {
    expect(endpointProblemsOf(keys)).toEqual([problem]);
  });

  it.each([
    ['"\\u0007"', 'name is "\\u0007"; expected a name of at most 64 characters, on one line'],
    ['" "', 'name is " "; expected a name of at most 64 characters, on one line'],
    ['☾', 'id is missing; expected an id, since the name has no letters or digits to make one of'],
  ])('the name %s', (name, problem) => {
    expect(serviceProblems(`endpoints: [{name: ${name}, quickDeploy: painter}]`)).toEqual([
      expect.stringContaining(`endpoints[0].${problem}`),
    ]);
  });
});

it('each name and id exists once, however they are written', () => {
  const text = `endpoints:
  - {name: Night, quickDeploy: painter}
  - {name: NIGHT, id: other, quickDeploy: painter}
  - {name: Night!, quickDeploy: painter}
  - {name: Fourth, id: Other, quickDeploy: painter}
`;
  expect(serviceProblems(text)).toEqual([
    '3:12: endpoints[1].name is "NIGHT"; expected a name that is not taken',
    '4:5: endpoints[2].id is missing; expected an id, since night, made of the name, is taken',
    '5:24: endpoints[3].id is "Other"; expected an id that is not taken',
  ]);
});

it.each([
  ['{}', null],
  ['{private: true}', true],
  ['{private: false}', false],
  ['{allowPrivate: true}', true],
  ['{allowPrivate: true, private: false}', false],
])('accepts webhooks: %s, also by the earlier name', (webhooks, expected) => {
  expect(serviceOf(`webhooks: ${webhooks}`).settings.hasPrivateWebhooks).toBe(expected);
});

it('refuses a proxy for webhooks whose password cannot be read', () => {
  expect(serviceProblems('webhooks: {proxy: "http://ann:50%@proxy.example"}')).toEqual([
    expect.stringContaining('expected the address of a proxy'),
  ]);
});
