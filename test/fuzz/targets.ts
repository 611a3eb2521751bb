import { ConfigError } from '../../shared/errors.ts'
import type { FuzzTarget } from './fuzz-target.ts'
import { CONFIG_TARGETS } from './targets/configuration.ts'
import { DATABASE_TARGETS } from './targets/database.ts'
import { EVM_TARGETS } from './targets/evm.ts'
import { FILECOIN_TARGETS } from './targets/filecoin.ts'
import { HANDED_IN_TARGETS } from './targets/handed-in.ts'
import { LOTUS_TARGETS } from './targets/lotus.ts'
import { RPC_TARGETS } from './targets/rpc.ts'

export const TARGETS: readonly FuzzTarget[] = [
  ...EVM_TARGETS,
  ...LOTUS_TARGETS,
  ...RPC_TARGETS,
  ...FILECOIN_TARGETS,
  ...HANDED_IN_TARGETS,
  ...CONFIG_TARGETS,
  ...DATABASE_TARGETS,
]

/** Throws a ConfigError that names the existing targets. */
export function findTarget(name: string): FuzzTarget {
  const target = TARGETS.find((candidate) => candidate.name === name)
  if (target !== undefined) return target
  throw new ConfigError(
    `there is no target "${name}"; there are: ${TARGETS.map((one) => one.name).join(', ')}`,
  )
}
