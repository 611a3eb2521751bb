import {
  judgeNetwork,
  PROBLEM_KINDS,
  type NetworkHealth,
  type NetworkRow,
  type ProblemKind,
  type RoleReport,
} from '../../shared/indexing-health.ts'

/** Public wording for each kind of problem. The indexer's own text may quote hosts, files and node answers. */
const WORDS: Readonly<Record<ProblemKind, string>> = {
  stopped: 'the network has stopped: an operator has to act',
  database: 'the database does not answer the indexer',
  queue: 'the queue does not answer the indexer',
  reader: 'no process reads this network',
  writer: 'no process writes this network',
  node: 'the node does not answer as needed',
  step: 'a step cannot be written',
  worker: 'the queue worker takes nothing although work waits',
  other: 'the indexer reports a problem to its operators',
}

/**
 * Returns a network's health for the public: the operators' verdict, with the problem in words of a closed set. The
 * endpoints in a problem are shown by their place in the configuration.
 */
export function publicHealth(row: NetworkRow): NetworkHealth {
  const { isProblemInNote: _, ...health } = judgeNetwork({
    ...row,
    reader: inPublic(row.reader),
    writer: inPublic(row.writer),
  })
  return health
}

function inPublic(report: RoleReport | null): RoleReport | null {
  if (report === null) return null
  const { problem, state } = report
  if (problem === null) return { ...report, problemKind: null }
  // An indexer of another version may have written an unknown kind or none.
  const known = PROBLEM_KINDS.find((kind) => kind === report.problemKind)
  const problemKind = known ?? (state === 'stopped' ? 'stopped' : 'other')
  return { ...report, problem: inPublicWords(problemKind, report.problemEndpoints ?? []), problemKind }
}

function inPublicWords(kind: ProblemKind, endpoints: readonly number[]): string {
  const sorted = [...endpoints].sort((a, b) => a - b)
  return WORDS[kind] + (kind === 'node' && sorted.length > 0 ? ` (endpoint ${sorted.join(', ')})` : '')
}
