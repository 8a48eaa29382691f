/** Interface to the job service that comes with the program. Callers pass it in; batches never import the service. */

export interface LocalService {
  /** Starts the service with its data in `dataDir` for these endpoints. `onProblem` is called with warnings. */
  start(options: {
    dataDir: string;
    endpointIds: string[];
    onProblem: (text: string) => void;
  }): Promise<RunningService>;
  /** Rejects with `UnusableDatabase` if the service could not continue with this copy of its database. */
  assertDatabase(file: string): Promise<void>;
}

export interface RunningService {
  url: string;
  apiKey: string;
  /** Deletes a job whose pictures are saved and recorded. */
  collected(jobId: string): void;
  close(): Promise<void>;
}
