import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { claimPort } from '../evm/claim-port.ts'

const memorySchema = z.object({
  postgresPort: z.int().positive(),
  postgresPassword: z.string().min(1),
  devnetPort: z.int().positive(),
  /** Missing in files of versions without a Filecoin node. */
  filecoinPort: z.int().positive().optional(),
  /** Missing in files of versions without an intake. */
  intakePort: z.int().positive().optional(),
  /** Missing in files of versions whose API had no metrics. */
  metricsPort: z.int().positive().optional(),
})

/** Values that must stay the same over restarts; kept in DATA_DIR, readable by its owner alone. */
export type Memory = z.infer<typeof memorySchema> & {
  filecoinPort: number
  intakePort: number
  metricsPort: number
}

/** Wallets and scripts expect a local chain here. */
const USUAL_DEVNET_PORT = 8545
/** The usual port of a Lotus node. */
const USUAL_FILECOIN_PORT = 1234
const USUAL_INTAKE_PORT = 3003
const USUAL_METRICS_PORT = 3002

/**
 * Returns the embedded parts' ports and password of the last start. A port that another program has taken meanwhile is
 * replaced by a free one. Callers wait for the end of the former start's processes first.
 */
export async function recall(dataDir: string, avoid: number[]): Promise<Memory> {
  const file = join(dataDir, 'start.json')
  const former = read(file)
  const devnetPort = await portOr([former?.devnetPort ?? USUAL_DEVNET_PORT], avoid)
  const filecoinPort = await portOr([former?.filecoinPort ?? USUAL_FILECOIN_PORT], [...avoid, devnetPort])
  const taken = [...avoid, devnetPort, filecoinPort]
  const intakePort = await portOr([former?.intakePort ?? USUAL_INTAKE_PORT], taken)
  const metricsPort = await portOr([former?.metricsPort ?? USUAL_METRICS_PORT], [...taken, intakePort])
  const memory = {
    postgresPort: await portOr([former?.postgresPort ?? 0], [...taken, intakePort, metricsPort]),
    postgresPassword: former?.postgresPassword ?? randomBytes(18).toString('base64url'),
    ...{ devnetPort, filecoinPort, intakePort, metricsPort },
  }
  writeFileSync(`${file}.new`, JSON.stringify(memory, null, 2), { mode: 0o600 })
  renameSync(`${file}.new`, file)
  return memory
}

function read(file: string): z.infer<typeof memorySchema> | undefined {
  try {
    return memorySchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}

/** Returns the first of `wanted` that is free, else any free port; never one of `avoid`. */
async function portOr(wanted: number[], avoid: number[]): Promise<number> {
  for (const port of wanted) {
    const claimed = await claimPort(port).catch(() => undefined)
    if (claimed !== undefined && !avoid.includes(claimed)) return claimed
  }
  return portOr([0], avoid)
}
