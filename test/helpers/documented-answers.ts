import Ajv2020 from 'ajv/dist/2020.js'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'

interface Operation {
  operationId: string
  parameters?: { name: string; in: 'path' | 'query'; example?: unknown }[]
  responses: Record<string, unknown>
}

export interface OpenapiDocument {
  paths: Record<string, { get: Operation }>
  components: { schemas: Record<string, unknown> }
}

/** Says what is wrong with an answer; null where it is as documented, or where its URL is no documented one. */
export type JudgeAnswer = (url: string, response: LightMyRequestResponse) => string | null

/** Judges answers by an OpenAPI document. */
export function judgeBy(document: OpenapiDocument): JudgeAnswer {
  // The document has keywords of its own, and formats are only said.
  const ajv = new Ajv2020.default({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'document')
  const routes = Object.entries(document.paths).map(([path, { get }]) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}/?$`),
    responses: get.responses,
  }))
  return (url, response) => {
    const [pathname = ''] = url.split('?')
    // A route without parameters is meant before one with them.
    const [route] = routes
      .filter(({ pattern }) => pattern.test(pathname))
      .sort((a, b) => a.path.split('{').length - b.path.split('{').length)
    if (route === undefined) return null
    const code = response.statusCode
    if (route.responses[code] === undefined) return `${route.path} has no answer ${code}`
    if (code === 304) return null
    const [type = ''] = String(response.headers['content-type']).split(';')
    const place = ['paths', route.path, 'get', 'responses', code, 'content', type, 'schema']
    const pointer = place.map((name) => encodeURIComponent(`${name}`.replaceAll('/', '~1'))).join('/')
    const validate = ajv.getSchema(`document#/${pointer}`)
    if (validate === undefined) return `${route.path} has no schema for ${code} as ${type}`
    const body: unknown = type === 'application/json' ? response.json() : response.body
    return validate(body) === true ? null : `${url} ${code}: ${ajv.errorsText(validate.errors)}`
  }
}

let judge: JudgeAnswer | undefined

/** Lets each GET of `app.inject` fail when its answer is not as the OpenAPI document says. */
export async function checkAnswers(app: FastifyInstance): Promise<void> {
  await app.ready()
  // Each app has the same document. Later it would hold up requests that already wait.
  judge ??= judgeBy(app.swagger() as unknown as OpenapiDocument)
  type Inject = (request: InjectOptions | string) => Promise<LightMyRequestResponse>
  const inject: Inject = app.inject.bind(app)
  const checked: Inject = async (request) => {
    const response = await inject(request)
    const { method = 'GET', url = '' } = response.raw.req
    const isPlain = response.headers['content-encoding'] === undefined
    const fault = method === 'GET' && isPlain ? (judge?.(url, response) ?? null) : null
    if (fault !== null) throw new Error(`not as /openapi.json says: ${fault}`)
    return response
  }
  app.inject = checked as typeof app.inject
}
