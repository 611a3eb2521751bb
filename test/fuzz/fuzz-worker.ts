import { parentPort, workerData } from 'node:worker_threads'
import type { TargetNeeds } from './fuzz-target.ts'
import { runCases, type Assignment } from './run-cases.ts'
import { findTarget } from './targets.ts'

/** What a worker thread gets: `beats` is shared, [number of the case under way, runs of cases until now]. */
export interface WorkerStart {
  beats: Int32Array
  needs: TargetNeeds
}

/**
 * A thread that runs targets one after the other, as it is told. Whoever started it watches `beats`: a case that never
 * ends stops this thread's messages, but not the other thread's clock.
 */
const { beats, needs } = workerData as WorkerStart
const beat = (caseNumber: number): void => {
  Atomics.store(beats, 0, caseNumber)
  Atomics.add(beats, 1, 1)
}

parentPort?.on('message', (assignment: Assignment) => {
  void runCases(findTarget(assignment.target), assignment, needs, beat).then((report) =>
    parentPort?.postMessage(report),
  )
})
