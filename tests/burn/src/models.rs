//! The models of the matrix. Each has a twin with the same fields in `models.py`; a new model is a struct here, a class
//! there, and a line in each `MODELS` (here: the match in `main.rs`).

use burn::module::{Flag, Module, Param, ParamId};
use burn::nn::attention::generate_autoregressive_mask;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::loss::{CrossEntropyLossConfig, MseLoss, Reduction};
use burn::nn::pool::{AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig, MaxPool2d, MaxPool2dConfig};
use burn::nn::transformer::{TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput};
use burn::nn::{
    BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear,
    LinearConfig, LinearLayout, PaddingConfig2d, PositionalEncoding, PositionalEncodingConfig, RmsNorm, RmsNormConfig,
};
use burn::tensor::activation::relu;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};

/// What the jobs need of a model.
pub trait Model: Module {
    fn new(device: &Device) -> Self;
    /// Predictions, one row each.
    fn predict(&self, x: TensorData, device: &Device) -> Tensor<2>;
    fn loss(&self, x: TensorData, y: TensorData, device: &Device) -> Tensor<1>;
}

fn cross_entropy(logits: Tensor<2>, y: TensorData, device: &Device) -> Tensor<1> {
    let count = y.num_elements();
    let targets = Tensor::<1, Int>::from_data(TensorData::new(y.iter::<i32>().collect(), [count]), device);
    CrossEntropyLossConfig::new().init(device).forward(logits, targets)
}

// Every kind of container and of parameter.

#[derive(Module, Debug)]
pub struct Block {
    fc: Linear,
    norm: Option<LayerNorm>,
    dropout: Dropout,
}

#[derive(Module, Debug)]
pub struct Deep {
    hidden: Linear,
    last: Linear,
}

#[derive(Module, Debug)]
#[allow(dead_code, clippy::large_enum_variant)]
pub enum Head {
    Deep(Deep),
    Flat(Linear),
}

#[derive(Module, Debug)]
pub struct Mlp {
    stem: Linear,
    blocks: Vec<Block>,
    pair: (Linear, RmsNorm),
    arr: [Linear; 2], // the first one is frozen
    extra: Option<Linear>,
    nothing: Option<Linear>,
    head: Head,
    temperature: Param<Tensor<1>>,
    counts: Param<Tensor<1, Int>>,
    keep: Param<Tensor<1, Bool>>,
    gate: Param<Flag>,
}

impl Model for Mlp {
    fn new(device: &Device) -> Self {
        let linear = |d_input, d_output| LinearConfig::new(d_input, d_output).init(device);
        let block = |norm: Option<LayerNormConfig>| Block {
            fc: linear(8, 8),
            norm: norm.map(|config| config.init(device)),
            dropout: DropoutConfig::new(0.0).init(),
        };
        Self {
            stem: linear(5, 8),
            blocks: vec![
                block(Some(LayerNormConfig::new(8))),
                block(None),
                block(Some(LayerNormConfig::new(8).with_bias(false))),
            ],
            pair: (LinearConfig::new(8, 6).with_bias(false).init(device), RmsNormConfig::new(6).init(device)),
            arr: [linear(6, 6).no_grad(), linear(6, 6)],
            extra: Some(LinearConfig::new(6, 6).with_layout(LinearLayout::Col).init(device)),
            nothing: None,
            head: Head::Deep(Deep { hidden: linear(6, 4), last: linear(4, 3) }),
            temperature: Param::from_tensor(Tensor::ones([1], device)),
            counts: Param::initialized(ParamId::new(), Tensor::from_data([3, -2, 7], device)),
            keep: Param::initialized(ParamId::new(), Tensor::from_data([true, false, true, true], device)),
            gate: Param::from_bool(true),
        }
    }

    fn predict(&self, x: TensorData, device: &Device) -> Tensor<2> {
        let mut x = relu(self.stem.forward(Tensor::<2>::from_data(x, device)));
        for block in &self.blocks {
            let mut out = block.fc.forward(x.clone()).tanh();
            if let Some(norm) = &block.norm {
                out = norm.forward(out);
            }
            x = x + block.dropout.forward(out) * 0.5;
        }
        x = self.pair.1.forward(self.pair.0.forward(x));
        for layer in &self.arr {
            x = relu(layer.forward(x.clone())) + x;
        }
        if let Some(extra) = &self.extra {
            x = extra.forward(x);
        }
        x = match &self.head {
            Head::Deep(deep) => deep.last.forward(relu(deep.hidden.forward(x))),
            Head::Flat(linear) => linear.forward(x),
        };
        x * self.temperature.val().unsqueeze()
    }

    fn loss(&self, x: TensorData, y: TensorData, device: &Device) -> Tensor<1> {
        let target = Tensor::<2>::from_data(y, device);
        MseLoss::new().forward(self.predict(x, device), target, Reduction::Mean)
    }
}

// Running statistics.

#[derive(Module, Debug)]
pub struct Cnn {
    conv1: Conv2d,
    bn1: BatchNorm,
    pool: MaxPool2d,
    conv2: Conv2d,
    bn2: BatchNorm,
    average: AdaptiveAvgPool2d,
    fc: Linear,
}

impl Model for Cnn {
    fn new(device: &Device) -> Self {
        Self {
            conv1: Conv2dConfig::new([1, 4], [3, 3]).with_padding(PaddingConfig2d::Same).init(device),
            bn1: BatchNormConfig::new(4).init(device),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            conv2: Conv2dConfig::new([4, 6], [3, 3])
                .with_stride([2, 2])
                .with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1))
                .with_bias(false)
                .init(device),
            bn2: BatchNormConfig::new(6).with_momentum(0.3).with_epsilon(1e-3).init(device),
            average: AdaptiveAvgPool2dConfig::new([1, 1]).init(),
            fc: LinearConfig::new(6, 3).init(device),
        }
    }

    fn predict(&self, x: TensorData, device: &Device) -> Tensor<2> {
        let x = Tensor::<4>::from_data(x, device);
        let x = self.pool.forward(relu(self.bn1.forward(self.conv1.forward(x))));
        let x = self.average.forward(relu(self.bn2.forward(self.conv2.forward(x))));
        self.fc.forward(x.flatten(1, 3))
    }

    fn loss(&self, x: TensorData, y: TensorData, device: &Device) -> Tensor<1> {
        cross_entropy(self.predict(x, device), y, device)
    }
}

// Attention.

#[derive(Module, Debug)]
pub struct Transformer {
    token: Embedding,
    pos: PositionalEncoding,
    enc: TransformerEncoder,
    norm: LayerNorm,
    head: Linear,
}

impl Model for Transformer {
    fn new(device: &Device) -> Self {
        Self {
            token: EmbeddingConfig::new(11, 8).init(device),
            pos: PositionalEncodingConfig::new(8).with_max_sequence_size(16).init(device),
            enc: TransformerEncoderConfig::new(8, 12, 2, 1).with_norm_first(true).with_dropout(0.0).init(device),
            norm: LayerNormConfig::new(8).init(device),
            head: LinearConfig::new(8, 11).with_bias(false).init(device),
        }
    }

    fn predict(&self, x: TensorData, device: &Device) -> Tensor<2> {
        let tokens = Tensor::<2, Int>::from_data(x, device);
        let [batch, length] = tokens.dims();
        let x = self.pos.forward(self.token.forward(tokens));
        let mask = generate_autoregressive_mask(batch, length, device);
        let x = self.enc.forward(TransformerEncoderInput::new(x).mask_attn(mask));
        self.head.forward(self.norm.forward(x)).reshape([batch * length, 11])
    }

    fn loss(&self, x: TensorData, y: TensorData, device: &Device) -> Tensor<1> {
        cross_entropy(self.predict(x, device), y, device)
    }
}

// One parameter under two names. For records: a step of Burn's pulls the two apart.

#[derive(Module, Debug)]
pub struct Tied {
    embed: Embedding,
    output: Param<Tensor<2>>,
}

impl Model for Tied {
    fn new(device: &Device) -> Self {
        let embed = EmbeddingConfig::new(5, 4).init(device);
        let output = embed.weight.clone();
        Self { embed, output }
    }

    fn predict(&self, x: TensorData, device: &Device) -> Tensor<2> {
        let tokens = Tensor::<2, Int>::from_data(x, device);
        let [batch, length] = tokens.dims();
        let x = self.embed.forward(tokens).reshape([batch * length, 4]);
        x.matmul(self.output.val().transpose())
    }

    fn loss(&self, x: TensorData, y: TensorData, device: &Device) -> Tensor<1> {
        cross_entropy(self.predict(x, device), y, device)
    }
}
