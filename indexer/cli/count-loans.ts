import type { ContractRole } from '../../shared/events/chain-event.ts'
import type { AuditDifference } from './audit-difference.ts'

/** Loans that are named although the index or the contract lacks them. */
const MOST_NAMED = 1000

/** (pure) Compares the loans of the index with the number that each contract ever made; they are numbered from 1. */
export function countLoans(
  known: Record<ContractRole, ReadonlySet<bigint>>,
  counters: ReadonlyMap<ContractRole, bigint>,
): { differences: Omit<AuditDifference, 'network'>[]; older: { role: ContractRole; upTo: bigint }[] } {
  const differences: Omit<AuditDifference, 'network'>[] = []
  const older: { role: ContractRole; upTo: bigint }[] = []
  for (const [role, count] of counters) {
    const ids = known[role]
    const first = [...ids].reduce((least, id) => (id < least ? id : least), count + 1n)
    if (first > 1n) older.push({ role, upTo: first - 1n })
    const differ = (id: bigint, indexed: string | null, onChain: string | null): void => {
      if (differences.length < MOST_NAMED)
        differences.push({ subject: `${role} loan ${id} of its contract`, field: 'loan', indexed, onChain })
    }
    for (let id = first; id <= count && differences.length < MOST_NAMED; id += 1n)
      if (!ids.has(id)) differ(id, null, 'made')
    for (const id of ids) if (id > count) differ(id, 'made', null)
  }
  return { differences, older }
}
