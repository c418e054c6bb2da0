const above = document.querySelector('attn-weights');
const heads = document.querySelector('attn-heads');
heads.weights = above.weights;
heads.addEventListener('select', ({ detail }) => (above.head = detail.head));
