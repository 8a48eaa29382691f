/** What a batch needs of the job service that comes with the program. A caller passes it in, so that batches do not import the service. */

export interface LocalService {
  /** Starts the service with its data in `dataDir`. `endpointIds`: endpoints that it serves. `onProblem`: gets warnings. */
  start(options: {
    dataDir: string;
    endpointIds: string[];
    onProblem: (text: string) => void;
  }): Promise<RunningService>;
  /** Rejects with `UnusableDatabase` if the service could not go on with this copy of its database. */
  assertDatabase(file: string): Promise<void>;
}

export interface RunningService {
  url: string;
  apiKey: string;
  /** Deletes what the service keeps of a job, whose pictures are saved and on record. */
  collected(jobId: string): void;
  close(): Promise<void>;
}
