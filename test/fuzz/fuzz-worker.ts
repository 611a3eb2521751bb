import { parentPort, workerData } from 'node:worker_threads'
import { runCases, type Assignment } from './run-cases.ts'
import { importTargets, type WorkerStart } from './worker-start.ts'

/**
 * A thread that runs targets one after the other on request. The main thread watches `beats`: a case that never ends
 * blocks this thread's messages, but not the main thread's clock.
 */
const { beats, needs, targetsModule } = workerData as WorkerStart
const { findTarget } = await importTargets(targetsModule)
const beat = (caseNumber: number): void => {
  Atomics.store(beats, 0, caseNumber)
  Atomics.add(beats, 1, 1)
}

parentPort?.on('message', (assignment: Assignment) => {
  void runCases(findTarget(assignment.target), assignment, needs, beat).then((report) =>
    parentPort?.postMessage(report),
  )
})
