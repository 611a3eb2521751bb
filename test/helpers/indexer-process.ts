import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { JsonRpcProvider } from 'ethers'
import type { Db } from '../../shared/db/connect.ts'
import { freePort } from './free-port.ts'
import { serviceProgram } from './service-program.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A test, or a program that cleans up as one does. */
export type Stage = Pick<Test, 'comment' | 'teardown'>

export interface IndexerSetup {
  databaseUrl: string
  redisUrl?: string | null
  networks: object
  /** Defaults to `all`. */
  role?: 'reader' | 'writer'
  /** Further variables. */
  environment?: Record<string, string>
  /** Extra flags for Node, such as production's. */
  flags?: string[]
}

/** The real indexer program in a process of its own, which a test may kill and start again. */
export class IndexerProcess {
  readonly #t: Stage
  readonly #environment: NodeJS.ProcessEnv
  readonly #flags: string[]
  #child: ChildProcess | undefined
  #output = ''

  constructor(t: Stage, environment: NodeJS.ProcessEnv, flags: string[] = []) {
    this.#t = t
    this.#environment = environment
    this.#flags = flags
  }

  /** Its base URL, which serves `/readyz`. */
  get url(): string {
    return `http://127.0.0.1:${this.#environment['INDEXER_PORT'] ?? ''}`
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Its output, for a failing test. */
  get output(): string {
    return this.#output
  }

  /** Waits until its output contains `what`. */
  async untilSays(what: string): Promise<void> {
    for (let waited = 0; waited < 90_000; waited += 100) {
      if (this.#output.includes(what)) return
      await delay(100)
    }
    throw new Error(`never said "${what}": ${this.#output}`)
  }

  start(): void {
    this.#output = ''
    const { path, flags } = serviceProgram('indexer/main')
    const child = fork(path, {
      cwd: ROOT,
      env: this.#environment,
      execArgv: [...flags, ...this.#flags],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const keep = (chunk: Buffer): void => {
      this.#output = (this.#output + chunk.toString()).slice(-20_000)
    }
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    this.#child = child
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  /** Stops it in order and returns its exit code. */
  async stop(): Promise<number | null> {
    const child = this.#child
    if (child === undefined) return null
    if (child.exitCode !== null || child.signalCode !== null) {
      if (child.exitCode !== 0) this.#t.comment(this.#output)
      return child.exitCode
    }
    const exited = once(child, 'exit')
    await this.#untilItHandlesSignals(child)
    child.kill('SIGTERM')
    const timeout = setTimeout(() => child.kill('SIGKILL'), 60_000)
    const [code] = (await exited) as [number | null]
    clearTimeout(timeout)
    if (code !== 0) this.#t.comment(this.#output)
    return code
  }

  /** A program that is still loading its modules ends by the signal itself. Its first line comes after that. */
  async #untilItHandlesSignals(child: ChildProcess): Promise<void> {
    const until = performance.now() + 60_000
    while (this.#output === '' && child.exitCode === null && performance.now() < until) await delay(20)
  }
}

/** Prepares an indexer for one network; it is stopped in teardown. */
export async function indexerProcess(t: Stage, setup: IndexerSetup): Promise<IndexerProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-indexer-'))
  const networksFile = join(folder, 'networks.json')
  await writeFile(networksFile, JSON.stringify(setup.networks))
  const plain = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TAP|_TAPJS|NODE_OPTIONS)/.test(name)),
  )
  const indexer = new IndexerProcess(
    t,
    {
      ...plain,
      DATABASE_URL: setup.databaseUrl,
      REDIS_URL: setup.redisUrl ?? '',
      NETWORKS_FILE: networksFile,
      INDEXER_ROLE: setup.role ?? 'all',
      INDEXER_PORT: String(await freePort()),
      LOG_LEVEL: 'info',
      ...setup.environment,
    },
    setup.flags,
  )
  t.teardown(async () => {
    await indexer.kill()
    await rm(folder, { recursive: true, force: true })
  })
  return indexer
}

/** Waits until the index is at the node's head, on the node's branch. */
export async function untilSynced(
  db: Db,
  rpcUrl: string,
  indexer: IndexerProcess,
  withinMs = 120_000,
): Promise<void> {
  const provider = new JsonRpcProvider(rpcUrl, 31337, { staticNetwork: true, cacheTimeout: -1 })
  const deadline = performance.now() + withinMs
  try {
    for (;;) {
      const [head, position] = await Promise.all([
        provider.getBlock('latest'),
        db.selectFrom('ledger.chain_position').selectAll().executeTakeFirst(),
      ])
      if (head !== null && position?.hash === head.hash) return
      if (performance.now() > deadline) {
        throw new Error(
          `not synced: head ${head?.number ?? '?'} ${head?.hash ?? ''}, indexed ${position?.number ?? 'nothing'} ${position?.hash ?? ''}\n${indexer.output}`,
        )
      }
      await delay(100)
    }
  } finally {
    provider.destroy()
  }
}
