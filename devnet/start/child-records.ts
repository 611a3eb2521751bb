import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { processIdentity } from '../evm/process-identity.ts'
import { killGroup } from './process-group.ts'

const recordsSchema = z.record(z.string(), z.object({ pid: z.int().positive(), identity: z.string() }))
type Records = z.infer<typeof recordsSchema>

/** Milliseconds that the children of a killed supervisor may take to notice its end. */
const LEAVE_MS = 8000

/** The children's process ids on disk, so that the next start can end those that a killed supervisor left. */
export class ChildRecords {
  readonly #file: string
  #records: Records = {}

  constructor(dataDir: string) {
    this.#file = join(dataDir, 'children.json')
  }

  add(name: string, pid: number): void {
    const identity = processIdentity(pid)
    if (identity !== undefined) this.#records[name] = { pid, identity }
    // A rename is atomic, so a kill in the middle leaves no partial file.
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#records))
    renameSync(`${this.#file}.new`, this.#file)
  }

  clear(): void {
    this.#records = {}
    rmSync(this.#file, { force: true })
  }

  /** Waits until the children of the last start have ended, then kills the rest with all their descendants. */
  async awaitFormer(): Promise<void> {
    const former = Object.values(this.#read())
    const alive = (): typeof former => former.filter(({ pid, identity }) => processIdentity(pid) === identity)
    const until = Date.now() + LEAVE_MS
    while (alive().length > 0 && Date.now() < until) await sleep(50)
    for (const { pid } of alive()) killGroup(pid, 'SIGKILL')
    while (alive().length > 0) await sleep(20)
    this.clear()
  }

  #read(): Records {
    try {
      return recordsSchema.parse(JSON.parse(readFileSync(this.#file, 'utf8')))
    } catch {
      return {}
    }
  }
}
