/** Example of service.yaml with a working endpoint. Further keys and workloads are shown in its comments. */

/** Returns the example. `schema`: path or address of the schema for editors, relative to the file. */
export function serviceExample(schema: string): string {
  return `# yaml-language-server: $schema=${schema}
# The endpoints of this service. What is left out has a default; \`nightrender schema service\` has all the keys.
# \`nightrender serve service.yaml\` starts it; endpoints that are made in its console stand beside these.

# Only programs of this machine reach 127.0.0.1. For others: 0.0.0.0, with a key (\`nightrender keys add\`) and a certificate.
host: 127.0.0.1
port: 4747
# Where workers of a cluster find this service.
# publicUrl: https://render.example
# tls: { cert: fullchain.pem, key: privkey.pem }
# Reverse proxies that say truly who their clients are.
# proxies: [127.0.0.1]
# Names by which a proxy or DNS knows this service; under others the console is not answered.
# hosts: [render.example]

# Inputs and results are deleted this long after completion.
retention: 30m

limits:
  # Larger submissions are answered with 400.
  maxBody: 10MiB
  # Submissions to an endpoint where this many wait already are answered with 429.
  maxQueued: 10000
  # A worker in a container or elsewhere that says nothing of its job for so long is taken for dead; another gets the job.
  silence: 1m

# After Ctrl-C or SIGTERM running jobs have this long to end; \`docker stop\` allows 10 s without \`--time\`.
shutdown:
  grace: 30s

# Webhooks to this machine and its network, such as http://192.168.1.5/done, are allowed by default only if nothing above
# leads other machines here. Otherwise everybody who may submit reaches that network through the service.
# webhooks:
#   private: true
#   proxy: http://proxy.example:3128

# Sites whose pages may use the job interface from a browser, with a key; none by default.
# cors: [https://studio.example]

endpoints:
  # Pictures in a moment, without a GPU: for trying a pipeline. Its id, night-renderer, is made of the name.
  - name: Night renderer
    quickDeploy: scene-renderer
    # A label for people: it draws on the processor.
    gpu: 24 GB
    workers: 2
    # Keep the worker running rather than start it when there are jobs.
    quickStart: true
    # Tried again this often where the worker died.
    retries: 2
    # Of a job that brings no bounds of its own: in a worker, and from submission to end.
    executionTimeout: 10m
    ttl: 24h

  # Blender, which has to be installed:
  # - name: Products
  #   quickDeploy: blender

  # A container image, run by docker or podman:
  # - name: Diffusion
  #   image: your-user/diffusion:1.0
  #   # That of docker or podman; host is that of this machine, with all that listens there.
  #   network: default
  #   # Where the container reaches this service.
  #   serviceUrl: http://172.17.0.1:4747
  #   # It keeps none of those that docker or podman gives.
  #   capabilities: []
  #   arguments: [--shm-size=1g]
  #   gpu: { devices: [0, 1] }
  #   memory: 16GB
  #   cpus: 4
  #   environment:
  #     MODEL: stabilityai/stable-diffusion-xl-base-1.0
  #     HF_TOKEN: \${HF_TOKEN}

  # A program that reads jobs as JSON lines and writes results as JSON lines, in this file's folder:
  # - name: My script
  #   command: [python3, worker.py]

  # A JavaScript module that exports \`handler\`:
  # - name: My module
  #   module: ./handler.mjs

  # Boxes with ComfyUI, each of which is one worker; what of a job's input is set in the workflow, exported in API format:
  # - name: ComfyUI
  #   comfyui:
  #     url: [http://box-1:8188, http://box-2:8188]
  #     workflow: flow.json
  #     set: { '6.text': '{{ prompt }}', '3.seed': '{{ seed }}' }

  # Slurm runs the workers, as many as the queue asks for:
  # - name: Cluster
  #   command: [python3, worker.py]
  #   on: { slurm: ['--gres=gpu:1'] }
  #   workers: { min: 0, max: 64, idle: 5m }

  # Workers on other machines ask for the jobs, with a worker key (\`nightrender keys add\`):
  # - name: GPU farm
  #   remote: true
`;
}
