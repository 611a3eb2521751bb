import type { FuzzTarget, TargetNeeds } from './fuzz-target.ts'

/** Data for a worker thread: `beats` is shared, [number of the running case, runs of cases so far]. */
export interface WorkerStart {
  beats: Int32Array
  needs: TargetNeeds
  /** URL of the module with the targets; tests of the fuzzer replace it. */
  targetsModule: string
}

export function importTargets(module: string): Promise<{ findTarget: (name: string) => FuzzTarget }> {
  return import(module) as Promise<{ findTarget: (name: string) => FuzzTarget }>
}
