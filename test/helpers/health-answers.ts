import { documents } from './documents.ts'

/** The answers to `/readyz` in one line each. A program that is not there answers nothing. */
export interface HealthAnswers {
  api: string
  indexer: string
}

const NOTHING = 'no answer'

interface Answer {
  status: number
  body: unknown
}

interface IndexerBody {
  payload: {
    problemKind: string | null
    reader?: { state: string }
    writer?: { state: string }
  }[]
}

async function ask(base: string, path: string): Promise<Answer | undefined> {
  try {
    const response = await fetch(base + path)
    return { status: response.status, body: await response.json() }
  } catch {
    return undefined
  }
}

/** Reads the answers of an API and an indexer with one network. Throws if a program that answers does not say that it lives. */
export async function healthAnswers(api: string, indexer: string): Promise<HealthAnswers> {
  const [ofApi, ofIndexer] = [await ask(api, '/readyz'), await ask(indexer, '/readyz')]
  for (const [base, answer] of [
    [api, ofApi],
    [indexer, ofIndexer],
  ] as const) {
    const alive = answer && (await ask(base, '/healthz'))
    if (alive !== undefined && alive.status !== 200) throw new Error(`/healthz: ${alive.status}`)
  }
  return { api: lineOfApi(ofApi), indexer: lineOfIndexer(ofIndexer) }
}

/**
 * Numbers differ from run to run, except those in a network's name, and so does whether the failing endpoint is known. A
 * devnet's blocks may be ahead of the clock.
 */
function lineOfApi(answer: Answer | undefined): string {
  if (answer === undefined) return NOTHING
  const { message } = answer.body as { message: string }
  const line = message.replace(/ \(endpoint [\d, ]+\)/, '').replaceAll(/(?<![:\w])\d+/g, 'N')
  return `${answer.status} ${line.replace('s ahead of the clock', 's old')}`
}

function lineOfIndexer(answer: Answer | undefined): string {
  if (answer === undefined) return NOTHING
  const [network] = (answer.body as IndexerBody).payload
  const roles = (['reader', 'writer'] as const).flatMap((role) => {
    const state = network?.[role]?.state
    return state === undefined ? [] : [`${role} ${state}`]
  })
  const kind = network?.problemKind ?? null
  return `${answer.status} ${roles.join(', ')}${kind === null ? '' : `; problem of kind ${kind}`}`
}

/** The table of docs/operations.md: what the programs answer in each state. */
export function documentedHealth(): Map<string, HealthAnswers> {
  const [, table = ''] = (documents.get('docs/operations.md') ?? '').split('| state | API | indexer |\n')
  const [rows = ''] = table.split('\n\n')
  return new Map(
    rows
      .split('\n')
      .slice(1)
      .map((row) => {
        const [state = '', api = '', indexer = ''] = row
          .split('|')
          .slice(1)
          .map((cell) => cell.trim().replaceAll('`', ''))
        return [state, { api, indexer }]
      }),
  )
}
