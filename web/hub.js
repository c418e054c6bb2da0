// The hub from which readers open models by name. This list is the only place that names hosts
// other than the page's own. The page takes the hub's address from it, and the content security
// policy allows requests only to these hosts and to the page's own.
//
// huggingface.co sends small files itself and redirects to other hosts for large files. At the time
// of writing, these are us.aws.cdn.hf.co and cas-bridge.xethub.hf.co. `ATTN_HUB=off npm run build`
// builds a page that contacts no other host and does not offer to open models by name.

/** @type {{ address: string, redirects: string[] } | null} */
export const hub =
  process.env.ATTN_HUB === 'off'
    ? null
    : {
        address: 'https://huggingface.co',
        redirects: ['https://*.huggingface.co', 'https://*.hf.co'],
      };
