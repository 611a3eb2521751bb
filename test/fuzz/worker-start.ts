import type { FuzzTarget, TargetNeeds } from './fuzz-target.ts'

/** What a worker thread gets: `beats` is shared, [number of the case under way, runs of cases until now]. */
export interface WorkerStart {
  beats: Int32Array
  needs: TargetNeeds
  /** URL of the module that has the targets: the fuzzer itself is tested with others. */
  targetsModule: string
}

export function importTargets(module: string): Promise<{ findTarget: (name: string) => FuzzTarget }> {
  return import(module) as Promise<{ findTarget: (name: string) => FuzzTarget }>
}
